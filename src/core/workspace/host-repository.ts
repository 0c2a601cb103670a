/**
 * The host's own bare repository of a clone (docs/git.md, The repository of the host), and the copy that the git server of an instance
 * serves. Hosts make both before the first worker begins.
 */
import { copyFile, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { HEADS, hostRepoPath, SEEDED, START, UPSTREAM } from '../git/host-layout.ts'
import { type GitEnd, runGit } from '../git/run-git.ts'
import { GIT_SERVER_MAX_BYTES, GIT_TRANSFER_LIMIT_MS } from '../limits.ts'
import type { ClonedRepo } from '../protocol/workspace.ts'
import { formatOf } from './ref-names.ts'
import type { CachedRepo } from './repo-cache.ts'
import { type RepoWork, repoGit, toRepoError } from './repo-git.ts'

/**
 * Makes it from the cache, whose files it shares as hard links: both belong to the host alone, and removing a cache breaks nothing.
 * `refs/upstream/*` and `refs/seeded/*` are the branches and tags of the upstream, `refs/start` the commit at which the work began.
 * Throws like {@link repoGit}.
 */
export async function makeHostRepository(
  work: RepoWork,
  cached: CachedRepo,
  { name, commit, working_branch: working }: ClonedRepo,
  places: { stage: string; directory: string },
): Promise<void> {
  const bare = `${name}.git`
  const draft = join(places.stage, bare)
  const extras = { maxBytes: Number.POSITIVE_INFINITY, protocols: 'file' }
  const git = (cwd: string, ...args: string[]) => repoGit(work, cwd, args, extras)
  await mkdir(places.stage, { recursive: true, mode: 0o700 })
  await rm(draft, { recursive: true, force: true })
  await git(places.stage, 'clone', '--quiet', '--bare', '--template=', '--', cached.path, bare)
  const format = commit === null ? (await git(draft, 'rev-parse', '--show-object-format')).trim() : formatOf(commit)
  await writeFile(join(draft, 'config'), bareConfig(format))
  // Each process of git takes milliseconds; HEAD is a line of text, and the names were checked.
  await writeFile(join(draft, 'HEAD'), `ref: ${HEADS}${cached.base ?? working}\n`)
  if (commit !== null) {
    await git(draft, 'update-ref', START, commit)
    await git(draft, 'fetch', '--quiet', '--no-tags', '--no-write-fetch-head', '.', ...SEEDS)
    await git(draft, 'pack-refs', '--all')
  }
  const place = hostRepoPath(places.directory, name)
  await rm(place, { recursive: true, force: true })
  await rename(draft, place)
}

const SEEDS = [`+${HEADS}*:${UPSTREAM}*`, `+${HEADS}*:${SEEDED}heads/*`, `+refs/tags/*:${SEEDED}tags/*`]

/**
 * Copies branches and tags of the host's repository to `<stage>/<name>.git`, for the git server: no file is shared, because the server is
 * not trusted. Throws `git_missing`, `repo_clone_failed`.
 */
export async function copyForServer(bare: string, name: string, stage: string, signal: AbortSignal): Promise<string> {
  const deadline = Date.now() + GIT_TRANSFER_LIMIT_MS
  const run = async (cwd: string, ...args: string[]): Promise<string> => {
    const end: GitEnd = await runGit({ args, cwd, deadline, signal, protocols: 'file', maxBytes: GIT_SERVER_MAX_BYTES })
    if (end.kind === 'done') return end.stdout.trim()
    signal.throwIfAborted()
    const repo = { name, url: 'the repository of the host', branch: null, working_branch: '' }
    const access = { options: { protocols: 'file' }, denial: () => undefined, close: async () => {} }
    throw toRepoError({ repo, access, deadline, signal }, end, GIT_SERVER_MAX_BYTES)
  }
  const copy = join(stage, `${name}.git`)
  await mkdir(stage, { recursive: true, mode: 0o700 })
  await rm(copy, { recursive: true, force: true })
  await run(stage, 'clone', '--quiet', '--bare', '--no-hardlinks', '--template=', '--', bare, `${name}.git`)
  // Both are the host's own: no worker can write to its repository.
  for (const name of ['config', 'HEAD']) await copyFile(join(bare, name), join(copy, name))
  return copy
}

/** Nothing of the place it was copied from is in it. */
function bareConfig(format: string): string {
  const isOther = format !== 'sha1'
  const lines = [
    '[core]',
    `\trepositoryformatversion = ${isOther ? 1 : 0}`,
    '\tfilemode = true',
    '\tbare = true',
    ...(isOther ? ['[extensions]', `\tobjectFormat = ${format}`] : []),
  ]
  return `${lines.join('\n')}\n`
}
