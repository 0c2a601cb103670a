/**
 * Takes snapshots of a clone into the host's bare repository: `refs/snapshots/<seq>`, and `refs/live` for a reader. The host of an
 * instance and the platform call it.
 */
import { lstat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { failpoint } from '../failpoints.ts'
import { withLock } from '../files/lock.ts'
import { BareGit } from '../git/bare-git.ts'
import { HEADS, LIVE, SNAPSHOTS, START } from '../git/host-layout.ts'
import { SNAPSHOT_LIMIT_MS, SNAPSHOT_SKIPPED_MAX, SNAPSHOTS_MAX } from '../limits.ts'
import { isObject } from '../primitives/is-object.ts'
import type { Snapshot } from '../protocol/changes.ts'
import { cleanLine } from '../view/clean.ts'
import { type ReadTree, readTree, type TreeWork } from './read-tree.ts'
import { parseSkipped, parseSkippedTotal } from './skipped-paths.ts'

export interface SnapshotWork {
  /** The bare repository. */
  path: string
  /** The clone, as the host sees it. */
  tree: string
  workingBranch: string
  /** Reads the tree where it may be read: by default in this process. */
  read?: ((work: TreeWork) => Promise<ReadTree>) | undefined
  signal?: AbortSignal | undefined
}

export interface Taken {
  snapshot: Snapshot
  /** False where nothing changed since the one before, which this is. */
  isNew: boolean
}

/**
 * The next numbered snapshot. Undefined where the clone is gone, or where there are too many already and this is not the last one. Throws
 * `work_unreadable`, `git_missing`, `lock_held`.
 */
export async function takeSnapshot(work: SnapshotWork, cause: string, isLast: boolean): Promise<Taken | undefined> {
  return await inTurn(work, async (git) => {
    const before = (await listSnapshots(git)).at(-1)
    const seq = (before?.seq ?? 0) + 1
    if (seq > SNAPSHOTS_MAX && !isLast) return undefined
    const lastTree = before === undefined ? undefined : await git.text('rev-parse', `${before.commit}^{tree}`)
    const found = await read(work, git, lastTree)
    if (found === undefined) return undefined
    // The next reader gets this one.
    await git.run(['update-ref', '-d', LIVE])
    if (before !== undefined && lastTree === found.tree && (await hasPushed(work, git, before.commit, lastTree))) {
      return { snapshot: before, isNew: false }
    }
    const message = messageOf(`Snapshot ${seq}: ${cause}`, found)
    const commit = await commitOf(work, git, found.tree, message)
    failpoint('snapshot.made')
    await git.run(['update-ref', `${SNAPSHOTS}${seq}`, commit])
    failpoint('snapshot.kept')
    const [snapshot] = await listed(git, `${SNAPSHOTS}${seq}`)
    return snapshot === undefined ? undefined : { snapshot, isNew: true }
  })
}

/** The work as it is now, for a reader; undefined where the clone is gone. Throws as {@link takeSnapshot}. */
export async function takeLive(work: SnapshotWork): Promise<LiveSnapshot | undefined> {
  return await inTurn(work, async (git) => {
    const found = await read(work, git)
    if (found === undefined) return undefined
    const commit = await commitOf(work, git, found.tree, messageOf('The work as it was read', found))
    // Without this name a clean-up of unreachable objects could remove it.
    await git.run(['update-ref', LIVE, commit])
    return { commit, at: new Date().toISOString(), skipped: found.skipped, skipped_total: found.skippedTotal }
  })
}

export type LiveSnapshot = Pick<Snapshot, 'commit' | 'at' | 'skipped' | 'skipped_total'>

/** Oldest first. */
export async function listSnapshots(git: BareGit): Promise<Snapshot[]> {
  return (await listed(git, SNAPSHOTS)).sort((left, right) => left.seq - right.seq)
}

const FORMAT = '%(refname)%00%(objectname)%00%(committerdate:iso-strict)%00%(contents)%00%00'

async function listed(git: BareGit, pattern: string): Promise<Snapshot[]> {
  const { stdout } = await git.run(['for-each-ref', `--format=${FORMAT}`, pattern.replace(/\/$/, '')], {
    maxOutputChars: (SNAPSHOTS_MAX + 10) * SNAPSHOT_SKIPPED_MAX * 2_000,
  })
  const found: Snapshot[] = []
  for (const entry of stdout.split('\0\0')) {
    const [ref = '', commit = '', at = '', message = ''] = entry.trimStart().split('\0')
    const seq = Number(ref.slice(SNAPSHOTS.length))
    if (!ref.startsWith(SNAPSHOTS) || !Number.isSafeInteger(seq) || seq < 1) continue
    const [title = '', ...rest] = message.split('\n')
    const cause = title.replace(/^Snapshot \d+: /, '')
    found.push({ seq, commit, at: new Date(at).toISOString(), cause, ...skippedIn(rest.join('\n')) })
  }
  return found
}

function messageOf(title: string, { skipped, skippedTotal }: ReadTree): string {
  if (skipped.length === 0) return cleanLine(title)
  return `${cleanLine(title)}\n\n${JSON.stringify({ skipped, skipped_total: skippedTotal })}`
}

/** A snapshot of an older version has no total: what it names is all that is known. */
function skippedIn(text: string): Pick<Snapshot, 'skipped' | 'skipped_total'> {
  try {
    const value: unknown = JSON.parse(text)
    const told = isObject(value) ? value : {}
    const skipped = parseSkipped(told['skipped'])
    return { skipped, skipped_total: parseSkippedTotal(told['skipped_total'], skipped.length) }
  } catch {
    return { skipped: [], skipped_total: 0 }
  }
}

async function read(work: SnapshotWork, git: BareGit, before?: string): Promise<ReadTree | undefined> {
  // A link in place of the clone, or of the workspace, is no clone.
  for (const path of [dirname(work.tree), work.tree]) {
    const found = await lstat(path).catch(() => undefined)
    if (found?.isDirectory() !== true) return undefined
  }
  const start = (await git.commitOf(START)) ?? null
  const { path: gitDir, tree, signal, read: readIn = readTree } = work
  const known = before === undefined ? [] : [before]
  return await readIn({ gitDir, tree, start, known, deadline: Date.now() + SNAPSHOT_LIMIT_MS, signal })
}

/** On top of what was pushed, so that it shows what was not. */
async function commitOf({ workingBranch }: SnapshotWork, git: BareGit, tree: string, message: string): Promise<string> {
  const parent = await parentOf(workingBranch, git)
  const parents = parent === undefined ? [] : ['-p', parent]
  return (await git.run(['commit-tree', tree, ...parents], { input: Buffer.from(`${message}\n`) })).stdout.trim()
}

async function parentOf(workingBranch: string, git: BareGit): Promise<string | undefined> {
  return (await git.commitOf(`${HEADS}${workingBranch}`)) ?? (await git.commitOf(START))
}

/** Whether a snapshot is on top of what was pushed by now, or what was pushed has the same files and needs no snapshot. */
async function hasPushed(
  { workingBranch }: SnapshotWork,
  git: BareGit,
  commit: string,
  tree: string,
): Promise<boolean> {
  const pushed = await parentOf(workingBranch, git)
  if (pushed === undefined || (await git.commitOf(`${commit}^`)) === pushed) return true
  return (await git.text('rev-parse', `${pushed}^{tree}`)) === tree
}

const IDENTITY = ['user.name=resolve', 'user.email=resolve@localhost', 'commit.gpgSign=false']
const LOOK_MS = 50

/** One at a time for each repository, in this process and in others: they share the index. */
async function inTurn<T>(work: SnapshotWork, act: (git: BareGit) => Promise<T>): Promise<T> {
  const deadline = Date.now() + 2 * SNAPSHOT_LIMIT_MS
  const git = new BareGit({
    fails: 'work_unreadable',
    path: work.path,
    deadline,
    signal: work.signal,
    settings: IDENTITY,
  })
  return await withLock(`${work.path}.lock`, () => act(git), { deadline, retryMs: LOOK_MS, signal: work.signal })
}
