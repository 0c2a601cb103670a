/**
 * The bare repository that the host keeps of each clone of an instance (docs/git.md, Seeing the work): no worker can write to it, so git may run
 * there. It is made together with the clone, before a worker begins.
 */
import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fail } from '../errors.ts'
import { BareGit } from '../git/bare-git.ts'
import { runGit } from '../git/run-git.ts'
import { whyGitFailed } from '../git/why-git-failed.ts'
import { CHANGES_GIT_LIMIT_MS } from '../limits.ts'
import type { ClonedRepo } from '../protocol/workspace.ts'

/** The commit that the work began at. */
export const START = 'refs/start'
/** The branches of the upstream, as they were when the instance began. */
export const UPSTREAM = 'refs/upstream/'
/** What was pushed. */
export const HEADS = 'refs/heads/'
export const SNAPSHOTS = 'refs/snapshots/'
/** A snapshot that was taken for a reader; the next one replaces it. */
export const LIVE = 'refs/live'

/** `git`: the directory for git of an instance. */
export function hostRepoPath(git: string, repo: string): string {
  return join(git, `${repo}.git`)
}

/**
 * Makes it from the cache. The caller holds the cache's lock, and no worker has begun; what is at the path is replaced. Objects are hard
 * links: cache and repository both belong to the host.
 */
export async function makeHostRepo(path: string, cache: string, cloned: ClonedRepo, work: MakeWork): Promise<void> {
  const draft = `${path}.new`
  await rm(draft, { recursive: true, force: true })
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const run = async (cwd: string, args: readonly string[]): Promise<string> => {
    const end = await runGit({ ...work, args, cwd, protocols: 'file', maxBytes: Number.POSITIVE_INFINITY })
    if (end.kind === 'done') return end.stdout.trim()
    work.signal.throwIfAborted()
    if (end.kind === 'missing') throw fail('git_missing', {})
    const reason = end.kind === 'failed' ? whyGitFailed(end.stderr) : 'it took too long.'
    throw fail('repo_clone_failed', { repo: cloned.name, url: cloned.url, reason })
  }
  const name = draft.slice(dirname(path).length + 1)
  await run(dirname(path), ['clone', '--quiet', '--bare', '--template=', '--no-tags', '--', cache, name])
  const format = await run(draft, ['rev-parse', '--show-object-format'])
  await writeFile(join(draft, 'config'), bareConfig(format))
  await mkdir(join(draft, 'info'), { recursive: true })
  const fetch = ['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', '--no-auto-gc', '--no-write-commit-graph']
  await run(draft, [...fetch, '--', cache, `+${HEADS}*:${UPSTREAM}*`])
  // What was pushed is empty yet.
  await rm(join(draft, 'packed-refs'), { force: true })
  await rm(join(draft, 'refs', 'heads'), { recursive: true, force: true })
  await mkdir(join(draft, 'refs', 'heads'))
  if (cloned.commit !== null) await run(draft, ['update-ref', START, cloned.commit])
  await run(draft, ['symbolic-ref', 'HEAD', `${HEADS}${cloned.base ?? cloned.working_branch}`])
  await rm(path, { recursive: true, force: true })
  await rename(draft, path)
}

interface MakeWork {
  deadline: number
  signal: AbortSignal
}

function bareConfig(format: string): string {
  const isOther = format !== 'sha1'
  const extensions = isOther ? `[extensions]\n\tobjectFormat = ${format}\n` : ''
  return `[core]\n\trepositoryformatversion = ${isOther ? 1 : 0}\n\tfilemode = true\n\tbare = true\n${extensions}`
}

/** Undefined for an instance of an older version, which has none. */
export async function openHostRepo(path: string, signal?: AbortSignal): Promise<BareGit | undefined> {
  const found = await stat(path).catch(() => undefined)
  if (found?.isDirectory() !== true) return undefined
  return new BareGit({ path, deadline: Date.now() + CHANGES_GIT_LIMIT_MS, signal })
}
