/**
 * Brings what a worker pushed from the git server into the host's own bare repository, and finds what of it the journal does not tell yet.
 * The server is not trusted: git checks every object, over HTTP.
 */
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { BareGit } from '../../git/bare-git.ts'
import { ALL_BRANCHES_AND_TAGS, FETCH_QUIETLY } from '../../git/fetch-arguments.ts'
import { HEADS, SEEDED } from '../../git/host-layout.ts'
import { runGit } from '../../git/run-git.ts'
import { whyGitFailed } from '../../git/why-git-failed.ts'
import {
  GIT_LOCK_STALE_MS,
  GIT_REFS_READ_MAX_CHARS,
  GIT_SERVER_MAX_BYTES,
  GIT_TRANSFER_LIMIT_MS,
  REPO_CACHE_MAX_BYTES,
} from '../../limits.ts'
import type { PushedRef } from '../../protocol/workspace.ts'

export interface PushPlace {
  repo: string
  /** The bare repository of the host. */
  bare: string
  signal: AbortSignal
}

/** Undefined where it succeeded; else why not. `origin`: where the server answers, `http://host:port`. */
export async function fetchPushed(
  { repo, bare, signal }: PushPlace,
  origin: string,
  token: string,
): Promise<string | undefined> {
  const url = `${origin}/admin/${repo}.git`
  const ask = async (args: readonly string[]) =>
    await runGit({
      args: ['--git-dir=.', ...args],
      cwd: bare,
      protocols: 'http',
      deadline: Date.now() + GIT_TRANSFER_LIMIT_MS,
      maxBytes: REPO_CACHE_MAX_BYTES + GIT_SERVER_MAX_BYTES,
      maxOutputChars: GIT_REFS_READ_MAX_CHARS,
      signal,
      // No proxy of the operator: the relay is on this machine.
      settings: ['core.bare=true', 'http.proxy='],
      credentials: { origin, username: 'host', password: token },
    })
  // A server that lost its refs must not empty the repository of the host.
  const listed = await ask(['ls-remote', '--quiet', '--refs', '--', url, 'refs/heads/*', 'refs/tags/*'])
  if (listed.kind !== 'done') return reasonOf(listed)
  if (listed.stdout.trim() === '') return undefined
  const fetched = await ask([...FETCH_QUIETLY, '--prune', '--', url, ...ALL_BRANCHES_AND_TAGS])
  return fetched.kind === 'done' ? undefined : reasonOf(fetched)
}

function reasonOf(end: Awaited<ReturnType<typeof runGit>>): string {
  return end.kind === 'failed' ? whyGitFailed(end.stderr) : `git: ${end.kind}`
}

/** A lock that is older than any change of refs takes: its git was killed. Packs have other names. */
export async function removeStaleLocks(bare: string): Promise<void> {
  const entries = [
    ...(await readdir(bare, { withFileTypes: true })),
    ...(await readdir(join(bare, 'refs'), { withFileTypes: true, recursive: true })),
  ]
  for (const entry of entries) {
    if (!entry.isFile() || !entry.name.endsWith('.lock')) continue
    const path = join(entry.parentPath, entry.name)
    const changed = (await stat(path).catch(() => undefined))?.mtimeMs ?? Number.POSITIVE_INFINITY
    if (Date.now() - changed > GIT_LOCK_STALE_MS) await rm(path, { force: true })
  }
}

/** Branches and tags that differ from what was told, in the order of their names. `told`: undefined for a ref that was never told. */
export async function untoldRefs(
  { repo, bare, signal }: PushPlace,
  told: (ref: string) => string | null | undefined,
): Promise<PushedRef[]> {
  const git = new BareGit({ path: bare, deadline: Date.now() + GIT_TRANSFER_LIMIT_MS, signal })
  const list = ['for-each-ref', '--format=%(objectname) %(refname)', HEADS, 'refs/tags/', SEEDED]
  const listed = await git.run(list, { maxOutputChars: GIT_REFS_READ_MAX_CHARS }).catch(() => undefined)
  if (listed === undefined || listed.isCut) return []
  const now = new Map<string, string>()
  const seeded = new Map<string, string>()
  for (const line of listed.stdout.split('\n')) {
    const [id = '', ref = ''] = line.split(' ')
    if (ref.startsWith(SEEDED)) seeded.set(`refs/${ref.slice(SEEDED.length)}`, id)
    else if (ref !== '') now.set(ref, id)
  }
  const pushes: PushedRef[] = []
  for (const ref of [...new Set([...now.keys(), ...seeded.keys()])].sort()) {
    const known = told(ref)
    const from = known === undefined ? (seeded.get(ref) ?? null) : known
    const to = now.get(ref) ?? null
    if (from === to) continue
    const isKept = from === null || to === null || (await isAncestor(git, from, to))
    pushes.push({ repo, ref, from, to, forced: !isKept })
  }
  return pushes
}

async function isAncestor(git: BareGit, from: string, to: string): Promise<boolean> {
  const asked = git.run(['merge-base', '--is-ancestor', from, to], { codes: [1] })
  return await asked.then(
    ({ code }) => code === 0,
    () => false,
  )
}
