/** Workspaces: the repositories that the platform clones for a resolver before it runs (spec, workspace_spec; docs/git.md). */
import { count, flag, listOf, nullable, object, oneOf, optional, type Static, text } from '../schema/schema.ts'

/** A repository of an instance, as it was fixed at its creation. */
export type RepoPlan = Static<typeof repoPlan>

export const repoPlan = object({
  /** The name of its directory in the workspace. */
  name: text(),
  /** The address of the upstream: https://…, http://…, ssh://…, user@host:path or file:///…; without user and password. */
  url: text(),
  /** A branch, a tag or a whole commit id; null for the default branch of the upstream. */
  branch: nullable(text()),
  /** The branch that the resolver begins on. */
  working_branch: text(),
})

/** The workspace of an instance. */
export type WorkspacePlan = Static<typeof workspacePlan>

export const workspacePlan = object({
  repos: listOf(repoPlan),
  /** The resolver asked for a git server beside its worker. Absent where it did not. */
  git_server: optional(flag()),
  /** It asked under the name `gitea`. */
  gitea: optional(flag()),
})

/** A branch or tag as the worker pushed it. */
export type PushedRef = Static<typeof pushedRef>

const commitOrNone = nullable(text(), { description: 'A commit id, or that of a tag; null for none' })

export const pushedRef = object({
  repo: text(),
  ref: text({ description: 'refs/heads/… or refs/tags/…' }),
  from: commitOrNone,
  to: commitOrNone,
  forced: flag({ description: 'The commits before are not part of it any more' }),
})

export const PULL_ACTIONS = ['opened', 'updated', 'closed', 'merged'] as const

/** A pull request at the instance's own git server. */
export const toldPull = object({
  repo: text(),
  number: count(),
  action: oneOf(PULL_ACTIONS),
  title: text(),
  head: text(),
  base: text(),
  commit: text({ description: 'The head when it was opened, or what it was merged as; may be empty' }),
  url: text({ description: 'At the git server; only the worker reaches it' }),
  next: count({ description: 'The offset in pulls.jsonl of the git server from which the host goes on' }),
})

/** A repository that is cloned. */
export type ClonedRepo = Static<typeof clonedRepo>

export const clonedRepo = object({
  name: text(),
  url: text(),
  branch: nullable(text(), { description: 'The branch or tag that it begins at; null for a commit' }),
  base: nullable(text(), { description: 'The default branch of the upstream; null where it has none' }),
  commit: nullable(text(), {
    description: 'The commit that the working branch begins at; null in an empty repository',
  }),
  working_branch: text(),
  bytes: count({ description: 'The size of the clone' }),
  cached: flag({ description: 'Nothing had to be transferred' }),
  lfs: count({ description: 'Files that are only pointers to Git LFS' }),
  submodules: listOf(text(), { description: 'Directories of submodules, which stay empty' }),
})

/** In config.json: where a resolver finds a repository. */
export interface WorkspaceRepo {
  repo: string
  /** The path of the clone, as the worker sees it. */
  path: string
  /** The address of the upstream. */
  url: string
  /** The default branch of the upstream; null where it has none. */
  base: string | null
  commit: string | null
  working_branch: string
  /** The name of the remote in the clone. */
  remote: string
}
