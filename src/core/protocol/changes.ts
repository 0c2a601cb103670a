/** The work of an instance in its repositories, as consumers see it: repositories, differences, snapshots, commits (docs/git.md, Seeing the work). */
import {
  count,
  flag,
  listOf,
  named,
  nullable,
  object,
  oneOf,
  optional,
  type Static,
  text,
  time,
} from '../schema/schema.ts'

/** What a difference begins at. */
export const DIFF_BASES = ['start', 'upstream', 'pushed'] as const

export type DiffBase = (typeof DIFF_BASES)[number]

/** Why a snapshot leaves a file out. */
export const SKIP_REASONS = ['too_large', 'repository', 'unreadable', 'too_many'] as const

export const skippedPath = object({ path: text(), reason: oneOf(SKIP_REASONS) })

/** What a snapshot does not hold. */
export type SkippedPath = Static<typeof skippedPath>

export type Snapshot = Static<typeof snapshot>

export const snapshot = named(
  'Snapshot',
  object({
    seq: count({ minimum: 1 }),
    commit: text({ description: 'The commit that holds it; its tree is the workspace as it was' }),
    at: time(),
    cause: text({ description: 'What it was taken for: "phase NAME", "pause" or "end"' }),
    skipped: listOf(skippedPath, { description: 'What it does not hold; the first 50' }),
    skipped_total: optional(
      count({ description: 'All that it does not hold. Absent from servers of an older version' }),
    ),
  }),
  'The state of a repository in the workspace at one moment',
)

export type ChangedRepo = Static<typeof changedRepo>

export const changedRepo = named(
  'Repository',
  object({
    name: text(),
    url: text({ description: 'The address of the upstream' }),
    base: nullable(text(), { description: 'The default branch of the upstream' }),
    start: nullable(text(), { description: 'The commit that the work began at' }),
    working_branch: text(),
    pushed: nullable(text(), { description: 'The commit of the working branch as it was pushed; null for none' }),
    snapshot: nullable(snapshot, { description: 'The latest one' }),
    kept: flag({ description: 'false: an instance of an older version, whose changes cannot be shown' }),
  }),
  'A repository in the workspace of an instance',
)

export const FILE_CHANGES = ['added', 'deleted', 'modified', 'renamed', 'copied', 'type_changed'] as const

export type ChangedFile = Static<typeof changedFile>

export const changedFile = object({
  path: text(),
  /** Where it was before it was renamed. */
  old_path: optional(text()),
  change: oneOf(FILE_CHANGES),
  additions: count(),
  deletions: count(),
  /** Not text: lines are not counted. */
  binary: optional(flag()),
})

export type RepoDiff = Static<typeof repoDiff>

export const repoDiff = named(
  'Diff',
  object({
    repo: text(),
    base: object({ kind: oneOf(DIFF_BASES), commit: nullable(text()) }),
    head: object({
      commit: text(),
      /** Null for the pushed branch. */
      snapshot: nullable(count()),
      at: time(),
      /** Taken for this request: it has no number. */
      live: flag(),
    }),
    files: listOf(changedFile),
    /** All of them, also where `files` is cut. */
    files_total: count(),
    additions: count(),
    deletions: count(),
    skipped: listOf(skippedPath),
    skipped_total: optional(count({ description: 'All of them, also where `skipped` is cut' })),
    patch: nullable(text(), { description: 'In the format of git; null where it was not asked for' }),
    patch_cut: flag({ description: 'The patch is longer than what is sent' }),
  }),
  'What changed in a repository',
)

export type RepoCommit = Static<typeof repoCommit>

export const repoCommit = object({
  commit: text(),
  parents: listOf(text()),
  author: text(),
  at: time(),
  subject: text(),
})

export type RepoHistory = Static<typeof repoHistory>

export const repoHistory = named(
  'RepositoryHistory',
  object({
    repo: text(),
    branches: listOf(object({ name: text(), commit: text() })),
    commits: listOf(repoCommit, { description: 'Commits of the pushed branches since the start, newest first' }),
    snapshots: listOf(snapshot, { description: 'Oldest first' }),
  }),
  'What was pushed, and the snapshots',
)

export type PullRequest = Static<typeof pullRequest>

export const pullRequest = object({
  number: count({ minimum: 1 }),
  title: text(),
  head: text(),
  base: text(),
  state: text({ description: 'opened, updated, closed or merged: what happened last' }),
  commit: text(),
  url: text({ description: 'At the git server of the instance' }),
  at: time(),
})
