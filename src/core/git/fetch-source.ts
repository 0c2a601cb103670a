/**
 * Fetches the files of a git repository as a plain tree. The catalog calls it for `resolver add` and `update`. Nothing of the
 * repository runs and nothing in it can point elsewhere: no hooks, filters, links, submodules or large-file downloads (threats
 * B6).
 */
import { randomBytes } from 'node:crypto'
import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fail } from '../errors.ts'
import { GIT_CHECKOUT_MAX_BYTES, GIT_LIMIT_MS } from '../limits.ts'
import { type GitAccess, openGitAccess } from './git-access.ts'
import { gitHosts } from './git-hosts.ts'
import { type GitEnd, runGit } from './run-git.ts'
import { whyGitFailed } from './why-git-failed.ts'

export interface FetchRequest {
  /** A parsed address: https://…, ssh://…, user@host:path or file:///… */
  url: string
  /** A branch, a tag or a commit; null for the default branch. */
  ref: string | null
  /** Of the configured git host; sent to no other one. */
  token?: string
  /** Where the tree is put. The path must not exist yet; it appears complete or not at all. */
  into: string
  onProgress?: (line: string) => void
  signal?: AbortSignal
  /** Limit of the whole fetch; default GIT_LIMIT_MS. */
  limitMs?: number
  /** Limit of objects and files together; default GIT_CHECKOUT_MAX_BYTES. */
  maxBytes?: number
}

/** The first git version that can ignore global settings and refuses local submodules. */
const OLDEST_GIT = [2, 38] as const
const SHORT_COMMIT = /^[0-9a-f]{7,64}$/

/**
 * Fetches with depth 1 where the server allows it, else whole. The tree holds no `.git`.
 * @returns the commit, 40 (or 64) lower-case hex characters.
 * @throws `git_missing`, or `git_failed` with git's reason (also for a time or size limit, and when aborted).
 */
export async function fetchSource(request: FetchRequest): Promise<{ commit: string }> {
  const tree = join(dirname(request.into), `.fetch-${randomBytes(8).toString('hex')}`)
  await mkdir(tree, { recursive: true, mode: 0o700 })
  const access = await openGitAccess(request.url, gitHosts(), request.token)
  try {
    const git = gitIn(tree, request, access)
    await checkVersion(git, request.url)
    await git('init', '--quiet', '--template=')
    const commit = await obtain(git, request)
    await git('checkout', '--quiet', '--detach', '--force', '--no-recurse-submodules', commit)
    await rm(join(tree, '.git'), { recursive: true, force: true })
    await rename(tree, request.into)
    return { commit }
  } finally {
    await access.close()
    await rm(tree, { recursive: true, force: true })
  }
}

type Git = (...args: string[]) => Promise<string>

function gitIn(cwd: string, request: FetchRequest, access: GitAccess): Git {
  const limitMs = request.limitMs ?? GIT_LIMIT_MS
  const maxBytes = request.maxBytes ?? GIT_CHECKOUT_MAX_BYTES
  const deadline = Date.now() + limitMs
  return async (...args) => {
    const { signal, onProgress } = request
    const end = await runGit({ args, cwd, deadline, maxBytes, signal, onProgress, ...access.options })
    if (end.kind === 'done') return end.stdout
    if (end.kind === 'missing') throw fail('git_missing', {})
    throw fail('git_failed', { url: request.url, reason: access.denial() ?? reasonOf(end, limitMs, maxBytes) })
  }
}

function reasonOf(end: Exclude<GitEnd, { kind: 'done' | 'missing' }>, limitMs: number, maxBytes: number): string {
  if (end.kind === 'failed') return whyGitFailed(end.stderr)
  if (end.kind === 'timeout') return `it took longer than ${limitMs / 1000} s.`
  if (end.kind === 'aborted') return 'it was aborted.'
  return `it is larger than ${maxBytes} bytes.`
}

async function checkVersion(git: Git, url: string): Promise<void> {
  const text = await git('version')
  const [, major, minor] = /(\d+)\.(\d+)/.exec(text) ?? []
  const isOld = Number(major) < OLDEST_GIT[0] || (Number(major) === OLDEST_GIT[0] && Number(minor) < OLDEST_GIT[1])
  if (isOld) throw fail('git_failed', { url, reason: `${text.trim()} is older than ${OLDEST_GIT.join('.')}.` })
}

const FETCH = ['fetch', '--no-tags', '--no-recurse-submodules', '--no-write-commit-graph', '--progress']

/** Fetches the commit that the ref names into the repository, and returns it. */
async function obtain(git: Git, { url, ref }: FetchRequest): Promise<string> {
  try {
    await git(...FETCH, '--depth=1', '--', url, ref ?? 'HEAD')
    return await commitOf(git, 'FETCH_HEAD')
  } catch (error) {
    // A server may refuse to serve a commit by its id, and never resolves a shortened one: then all refs are fetched and
    // searched.
    if (ref === null || !SHORT_COMMIT.test(ref)) throw error
    await git(...FETCH, '--', url, '+refs/heads/*:refs/remotes/origin/*', '+refs/tags/*:refs/tags/*').catch(() => {
      throw error
    })
    return await commitOf(git, ref).catch(() => {
      throw error
    })
  }
}

async function commitOf(git: Git, name: string): Promise<string> {
  return (await git('rev-parse', '--verify', `${name}^{commit}`)).trim()
}
