/**
 * The cache of repositories with bundles: a tree for each commit, shared by all instances of the home (docs/on-disk.md). Only hosts write to
 * it. A worker may read a tree while a newer one comes: no tree is changed.
 */
import { createHash } from 'node:crypto'
import { chmod, mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fail, ResolveError } from '../../errors.ts'
import { takeLock } from '../../files/lock.ts'
import { writeWhole } from '../../files/write-whole.ts'
import { fetchSource } from '../../git/fetch-source.ts'
import { remoteCommits } from '../../git/remote-commits.ts'
import { SESSION_BUNDLE_REPO_MAX_BYTES } from '../../limits.ts'
import { isObject } from '../../primitives/is-object.ts'

export interface CachedBundle {
  /** The tree, readable for every user who can enter it. */
  path: string
  commit: string
  /** Nothing was transferred. */
  isCached: boolean
  /** Why an older copy was used. */
  stale?: string
}

export interface BundleRequest {
  home: string
  /** For git. */
  url: string
  ref: string | null
  /** Of the configured git host; empty for a bundle that another one names. */
  token: string
  /** Whether the copy is one for bundles that a resolver names: the token may have opened it, so an included bundle does not get it. */
  isOwn: boolean
  /** The commit that the instance began with; undefined at its first setup. */
  pinned: string | undefined
  /** Whether a copy is used without asking the server: for a resumed instance. */
  keepsCopy: boolean
  deadline: number
  signal: AbortSignal
  onProgress?: (line: string) => void
}

const LOCK_LOOK_MS = 100
export const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/

export function bundlesDirectory(home: string): string {
  return join(home, 'bundles')
}

/** Throws `git_missing`, `git_failed` where there is no copy either, and the signal's reason. */
export async function cachedBundle(request: BundleRequest): Promise<CachedBundle> {
  const { home, url, ref, isOwn, pinned, deadline, signal } = request
  const key = createHash('sha256')
    .update(JSON.stringify(isOwn ? [url, ref, 'own'] : [url, ref]))
    .digest('hex')
    .slice(0, 32)
  const directory = join(bundlesDirectory(home), key)
  await mkdir(bundlesDirectory(home), { recursive: true, mode: 0o700 })
  const release = await takeLock(`${directory}.lock`, { deadline, retryMs: LOCK_LOOK_MS, signal })
  if (release === undefined) throw fail('git_failed', { url, reason: 'another process fetches it for too long.' })
  try {
    // In the lock: a prune removes it.
    await mkdir(directory, { recursive: true, mode: 0o700 })
    const kept = await keptCommit(directory)
    const found =
      pinned === undefined ? await refresh(directory, kept, request) : await pinnedTree(directory, pinned, request)
    const commit = pinned === undefined ? found.commit : (kept ?? found.commit)
    const note = { url, ref, commit, used_at: new Date().toISOString() }
    await writeWhole(join(directory, NOTE), `${JSON.stringify(note)}\n`)
    return found
  } finally {
    await release()
  }
}

export const NOTE = 'bundle.json'

/** An instance keeps the commit that it began with, wherever its branch is now. */
async function pinnedTree(directory: string, pinned: string, request: BundleRequest): Promise<CachedBundle> {
  const path = join(directory, pinned)
  if (COMMIT.test(pinned) && (await isDirectory(path))) return { path, commit: pinned, isCached: true }
  return await fetchTree(directory, { ...request, ref: pinned })
}

async function refresh(directory: string, kept: string | undefined, request: BundleRequest): Promise<CachedBundle> {
  const { url, ref, token, keepsCopy, deadline, signal } = request
  const copy = kept === undefined ? undefined : { path: join(directory, kept), commit: kept, isCached: true }
  if (copy !== undefined && (keepsCopy || copy.commit === ref)) return copy
  if (copy !== undefined) {
    const commits = await remoteCommits({ url, ref, token, cwd: directory, deadline, signal })
    signal.throwIfAborted()
    if (commits.includes(copy.commit)) return copy
  }
  try {
    return await fetchTree(directory, request)
  } catch (error) {
    signal.throwIfAborted()
    if (copy === undefined || !(error instanceof ResolveError)) throw error
    return { ...copy, stale: error.message }
  }
}

async function fetchTree(directory: string, request: BundleRequest): Promise<CachedBundle> {
  const { url, ref, token, deadline, signal, onProgress } = request
  await removeDrafts(directory)
  const draft = join(directory, DRAFT)
  const { commit } = await fetchSource({
    ...{ url, ref, token, into: draft, signal, maxBytes: SESSION_BUNDLE_REPO_MAX_BYTES },
    limitMs: Math.max(1, deadline - Date.now()),
    ...(onProgress === undefined ? {} : { onProgress }),
  })
  const path = join(directory, commit)
  if (!(await isDirectory(path))) {
    await openToReaders(draft)
    await rename(draft, path)
  } else await rm(draft, { recursive: true, force: true })
  return { path, commit, isCached: false }
}

const DRAFT = '.draft'

/** What a killed host left. */
async function removeDrafts(directory: string): Promise<void> {
  for (const name of await readdir(directory))
    if (name === DRAFT || name.startsWith('.fetch-')) await rm(join(directory, name), { recursive: true, force: true })
}

/** The worker may be another user. The home itself is closed to others. */
async function openToReaders(directory: string): Promise<void> {
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) await openToReaders(path)
    else if (entry.isFile()) await chmod(path, ((await stat(path)).mode & 0o100) === 0 ? 0o444 : 0o555)
  }
  await chmod(directory, 0o755)
}

async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true
}

/** The commit that the last use gave; undefined where its tree is gone. */
async function keptCommit(directory: string): Promise<string | undefined> {
  const commit = (await readNote(directory))?.commit
  return commit !== undefined && (await isDirectory(join(directory, commit))) ? commit : undefined
}

/** What the last use wrote; undefined where a killed host wrote none. */
export async function readNote(
  directory: string,
): Promise<{ url: string; commit: string; usedMs: number } | undefined> {
  try {
    const note: unknown = JSON.parse(await readFile(join(directory, NOTE), 'utf8'))
    if (!isObject(note)) return undefined
    const { url, commit, used_at: at } = note
    if (typeof url !== 'string' || typeof commit !== 'string' || !COMMIT.test(commit)) return undefined
    const usedMs = Date.parse(String(at))
    return { url, commit, usedMs: Number.isFinite(usedMs) ? usedMs : 0 }
  } catch {
    return undefined
  }
}
