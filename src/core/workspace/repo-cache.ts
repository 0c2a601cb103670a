/**
 * The cache of upstream repositories: a bare repository for each address, shared by all instances of the home (docs/git.md, The cache).
 * Only hosts write to it. It is asked of the upstream at every use.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { failpoint } from '../failpoints.ts'
import { bytesBelow } from '../files/disk-usage.ts'
import { takeLock } from '../files/lock.ts'
import { writeWhole } from '../files/write-whole.ts'
import { ALL_BRANCHES_AND_TAGS, FETCH } from '../git/fetch-arguments.ts'
import { CACHE_LOOK_MS, CLONE_RETRY_MS, CLONE_TRIES, DISK_SAMPLE_MAX_ENTRIES, REPO_CACHE_MAX_BYTES } from '../limits.ts'
import { type FetchProgress, progressReporter } from './clone-progress.ts'
import { formatOf, isCommitId } from './ref-names.ts'
import { isPassing, type RepoWork, repoGit, toRepoError, tryRepoGit } from './repo-git.ts'

export interface CachedRepo {
  /** The bare repository. */
  path: string
  /** The default branch of the upstream: null where it has none. */
  base: string | null
  /** Nothing had to be transferred. */
  isFresh: boolean
}

export function cacheDirectory(home: string): string {
  return join(home, 'git', 'cache')
}

/** Addresses that differ only in what servers ignore share a cache. */
export function cacheKey(url: string): string {
  const [, head = '', path = url] = /^([a-z]+:\/\/[^/]*|[^/:]*@[^/:]*:)(.*)$/i.exec(url) ?? []
  const plain = head.toLowerCase() + path.replace(/\/+$/, '').replace(/\.git$/i, '')
  return createHash('sha256').update(plain).digest('hex').slice(0, 32)
}

/**
 * Brings the cache up to date and runs `use` while no other host changes it. Throws like {@link repoGit}, and what `use` throws; the
 * signal's reason where it is aborted.
 */
export async function withCache<T>(
  home: string,
  work: RepoWork,
  onProgress: (progress: FetchProgress) => void,
  use: (cached: CachedRepo) => Promise<T>,
): Promise<T> {
  const directory = cacheDirectory(home)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const key = cacheKey(work.repo.url)
  const { deadline, signal } = work
  // A fetch may take minutes, so a host that waits for another one waits as long as its own work may take.
  const release = await takeLock(join(directory, `${key}.lock`), { deadline, retryMs: CACHE_LOOK_MS, signal })
  if (release === undefined) throw toRepoError(work, { kind: 'timeout' }, 0)
  try {
    const path = join(directory, `${key}.git`)
    const cached = await refresh(path, work, onProgress)
    await noteUse(join(directory, `${key}.json`), path, work.repo.url)
    failpoint('workspace.fetched')
    return await use(cached)
  } finally {
    await release()
  }
}

async function refresh(
  path: string,
  work: RepoWork,
  onProgress: (progress: FetchProgress) => void,
): Promise<CachedRepo> {
  const { head, url } = await askUpstream(path, work)
  if (!existsSync(path)) await makeBare(path, work, formatOf(head?.commit ?? ''))
  await removeLeftovers(path)
  const isFresh = await fetchAll(path, work, url, onProgress)
  const base = head?.branch ?? (head === undefined ? await unbornBranch(path, work, url) : null)
  if (base !== null && (await headOf(path)) !== `ref: refs/heads/${base}\n`) {
    await repoGit(work, path, ['symbolic-ref', 'HEAD', `refs/heads/${base}`], LIMITED)
  }
  return { path, base, isFresh }
}

/** As git keeps it: only a name that changed needs a process. */
async function headOf(path: string): Promise<string> {
  return await readFile(join(path, 'HEAD'), 'utf8').catch(() => '')
}

const LIMITED = { maxBytes: REPO_CACHE_MAX_BYTES }

interface UpstreamHead {
  branch: string | null
  commit: string
}

/** What HEAD of the upstream is; undefined where it has no commit. The address may need `.git` at its end. */
async function askUpstream(path: string, work: RepoWork): Promise<{ head: UpstreamHead | undefined; url: string }> {
  const cwd = join(path, '..')
  // The size of the whole cache does not count here.
  const extras = { maxBytes: Number.POSITIVE_INFINITY }
  let { url } = work.repo
  let end = await withRetries(work, () => tryRepoGit(work, cwd, ['ls-remote', '--symref', '--', url, 'HEAD'], extras))
  if (end.kind === 'failed' && /returned error: 30\d/.test(end.stderr) && !url.endsWith('.git')) {
    // GitLab redirects an address without it. No redirect is followed.
    url = `${url}.git`
    end = await tryRepoGit(work, cwd, ['ls-remote', '--symref', '--', url, 'HEAD'], extras)
  }
  work.signal.throwIfAborted()
  if (end.kind !== 'done') throw toRepoError(work, movedOr(end), REPO_CACHE_MAX_BYTES)
  const branch = /^ref: refs\/heads\/(\S+)\tHEAD$/m.exec(end.stdout)?.[1] ?? null
  const commit = /^([0-9a-f]{40}(?:[0-9a-f]{24})?)\tHEAD$/m.exec(end.stdout)?.[1]
  return { head: commit === undefined ? undefined : { branch, commit }, url }
}

function movedOr(end: Exclude<Awaited<ReturnType<typeof tryRepoGit>>, { kind: 'done' }>) {
  const isMoved = end.kind === 'failed' && /returned error: 30\d/.test(end.stderr)
  return isMoved ? { ...end, stderr: 'fatal: it has moved to another address, and redirects are not followed' } : end
}

async function makeBare(path: string, work: RepoWork, format: string): Promise<void> {
  const draft = `${path}.new`
  await rm(draft, { recursive: true, force: true })
  await mkdir(draft, { mode: 0o700 })
  await repoGit(work, draft, ['init', '--quiet', '--bare', '--template=', `--object-format=${format}`, '.'], LIMITED)
  await rename(draft, path)
}

/** What a killed git leaves: a lock file would refuse every later fetch, and a pack that is not whole only takes space. */
async function removeLeftovers(path: string): Promise<void> {
  const isLeft = (name: string) => name.endsWith('.lock') || name.startsWith('tmp_')
  const walk = async (directory: string): Promise<void> => {
    for (const entry of await readdir(directory, { withFileTypes: true }).catch(() => [])) {
      const at = join(directory, entry.name)
      if (isLeft(entry.name)) await rm(at, { recursive: true, force: true })
      else if (entry.isDirectory() && !/^[0-9a-f]{2}$/.test(entry.name)) await walk(at)
    }
  }
  await walk(path)
}

/** Whether nothing had to be transferred. */
async function fetchAll(
  path: string,
  work: RepoWork,
  url: string,
  report: (progress: FetchProgress) => void,
): Promise<boolean> {
  const { branch } = work.repo
  let isFresh = true
  const onReport = progressReporter(report)
  const onProgress = (line: string) => {
    if (/^(?:Receiving|Unpacking) objects/.test(line)) isFresh = false
    onReport(line)
  }
  const fetch = (...args: string[]) =>
    tryRepoGit(work, path, [...FETCH, '--progress', ...args], { ...LIMITED, onProgress })
  const end = await withRetries(work, () => fetch('--prune', '--', url, ...ALL_BRANCHES_AND_TAGS))
  work.signal.throwIfAborted()
  if (end.kind !== 'done') throw toRepoError(work, movedOr(end), REPO_CACHE_MAX_BYTES)
  if (branch === null || !isCommitId(branch) || (await hasCommit(path, work, branch))) return isFresh
  // On no branch: a server may give it by its whole id.
  const found = await fetch('--', url, branch)
  work.signal.throwIfAborted()
  if (found.kind !== 'done' && found.kind !== 'failed') throw toRepoError(work, found, REPO_CACHE_MAX_BYTES)
  return isFresh
}

async function hasCommit(path: string, work: RepoWork, commit: string): Promise<boolean> {
  return (await tryRepoGit(work, path, ['cat-file', '-e', `${commit}^{commit}`], LIMITED)).kind === 'done'
}

/** The branch that the first push to an empty repository makes. Only a clone is told its name. */
async function unbornBranch(path: string, work: RepoWork, url: string): Promise<string | null> {
  const draft = `${path}.new`
  await rm(draft, { recursive: true, force: true })
  await mkdir(draft, { mode: 0o700 })
  try {
    await repoGit(work, draft, ['clone', '--quiet', '--bare', '--template=', '--', url, 'it'], LIMITED)
    return (await repoGit(work, join(draft, 'it'), ['symbolic-ref', '--short', 'HEAD'], LIMITED)).trim() || null
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

async function withRetries(
  { signal, deadline }: RepoWork,
  run: () => ReturnType<typeof tryRepoGit>,
): ReturnType<typeof tryRepoGit> {
  for (let left = CLONE_TRIES; ; left--) {
    const end = await run()
    if (left === 1 || signal.aborted || !isPassing(end) || Date.now() > deadline) return end
    await sleep(CLONE_RETRY_MS, undefined, { signal }).catch(() => {})
  }
}

/** For people and `resolve git prune`. */
async function noteUse(file: string, path: string, url: string): Promise<void> {
  const bytes = await bytesBelow(path, DISK_SAMPLE_MAX_ENTRIES)
  await writeWhole(file, `${JSON.stringify({ url, fetched_at: new Date().toISOString(), bytes })}\n`)
}
