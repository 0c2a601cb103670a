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
  /** Whether a copy is used without asking the server: for a resumed instance. */
  keepsCopy: boolean
  deadline: number
  signal: AbortSignal
  onProgress?: (line: string) => void
}

const LOCK_LOOK_MS = 100
const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/

export function bundlesDirectory(home: string): string {
  return join(home, 'bundles')
}

/** Throws `git_missing`, `git_failed` where there is no copy either, and the signal's reason. */
export async function cachedBundle(request: BundleRequest): Promise<CachedBundle> {
  const { home, url, ref, deadline, signal } = request
  const key = createHash('sha256')
    .update(JSON.stringify([url, ref]))
    .digest('hex')
    .slice(0, 32)
  const directory = join(bundlesDirectory(home), key)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const release = await takeLock(`${directory}.lock`, { deadline, retryMs: LOCK_LOOK_MS, signal })
  if (release === undefined) throw fail('git_failed', { url, reason: 'another process fetches it for too long.' })
  try {
    const kept = await keptCommit(directory)
    const found = await refresh(directory, kept, request)
    const note = { url, ref, commit: found.commit, used_at: new Date().toISOString() }
    await writeWhole(join(directory, NOTE), `${JSON.stringify(note)}\n`)
    return found
  } finally {
    await release()
  }
}

const NOTE = 'bundle.json'

async function refresh(directory: string, kept: string | undefined, request: BundleRequest): Promise<CachedBundle> {
  const { url, ref, keepsCopy, deadline, signal } = request
  const copy = kept === undefined ? undefined : { path: join(directory, kept), commit: kept, isCached: true }
  if (copy !== undefined && (keepsCopy || copy.commit === ref)) return copy
  if (copy !== undefined) {
    const commits = await remoteCommits({ url, ref, cwd: directory, deadline, signal })
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
  const { url, ref, deadline, signal, onProgress } = request
  await removeDrafts(directory)
  const draft = join(directory, DRAFT)
  const { commit } = await fetchSource({
    ...{ url, ref, into: draft, signal, maxBytes: SESSION_BUNDLE_REPO_MAX_BYTES },
    limitMs: Math.max(1, deadline - Date.now()),
    ...(onProgress === undefined ? {} : { onProgress }),
  })
  const path = join(directory, commit)
  const isThere = await stat(path).catch(() => undefined)
  if (isThere === undefined) {
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

/** The commit that the last use gave; undefined where its tree is gone. */
async function keptCommit(directory: string): Promise<string | undefined> {
  try {
    const note: unknown = JSON.parse(await readFile(join(directory, NOTE), 'utf8'))
    const commit = isObject(note) ? note['commit'] : undefined
    if (typeof commit !== 'string' || !COMMIT.test(commit)) return undefined
    return (await stat(join(directory, commit))).isDirectory() ? commit : undefined
  } catch {
    return undefined
  }
}
