/**
 * Clones the repositories of an instance before its first worker begins (docs/git.md). {@link file://./../lifecycle/launch.ts} calls it. A host that
 * finds `platform.git.ready` in the journal does not clone again; another one begins anew, because no worker has been there.
 */
import { rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { failpoint } from '../../failpoints.ts'
import { openGitAccess } from '../../git/git-access.ts'
import { gitHosts } from '../../git/git-hosts.ts'
import { CLONE_LIMIT_MS, CLONES_AT_ONCE, CLONES_WAITING, WORKSPACE_MAX_BYTES } from '../../limits.ts'
import type { ClonedRepo, RepoPlan } from '../../protocol/workspace.ts'
import { ConcurrencyLimiter } from '../../worker/concurrency-limiter.ts'
import type { CoordinationDirectory, SetupProgress } from '../../worker/worker.ts'
import type { FetchProgress } from '../../workspace/clone-progress.ts'
import { cloneFromCache } from '../../workspace/clone-repo.ts'
import { makeHostRepository } from '../../workspace/host-repository.ts'
import { withCache } from '../../workspace/repo-cache.ts'
import type { Ledger } from '../ledger/ledger.ts'

interface WorkspaceWork {
  home: string
  ledger: Ledger
  /** The epoch of this host. */
  epoch: number
  coordination: CoordinationDirectory
  /** The token of the git host; empty for none. */
  token: string
  write: (line: () => void) => Promise<void>
  signal: AbortSignal
  /** Starts or finds the git server; absent where the resolver wants none. */
  openServer?: (() => Promise<GitSeat>) | undefined
}

/** The git server, for the clones. */
export interface GitSeat {
  /** As the worker reaches it. */
  baseUrl: string
  /** The path of git-credential-resolve, as the worker sees it. */
  helper: string
  /** Makes it serve a copy of the host's repository. */
  place: (name: string, stage: string, signal: AbortSignal) => Promise<void>
}

const cloneLimiter = new ConcurrencyLimiter('clones', { atOnce: CLONES_AT_ONCE, waiting: CLONES_WAITING })

/** Throws `repo_…`, `git_missing`, `git_server_failed`, and the signal's reason where it is aborted. */
export async function prepareWorkspace(work: WorkspaceWork): Promise<void> {
  const { ledger, epoch, write, signal, openServer } = work
  const { creation, repos: cloned } = ledger.story
  const plans = creation.workspace?.repos ?? []
  if (cloned !== undefined) {
    await openServer?.()
    return
  }
  if (plans.length === 0 && openServer === undefined) return
  const first = openServer === undefined ? 0 : 1
  const total = plans.length + first
  await write(() => ledger.record('platform.setup.starting', { total }))
  const startedMs = Date.now()
  const giveBack = await cloneLimiter.take('all', signal)
  // A directory of its own: a host that hands over may still be clearing away when the next one begins.
  const stages = join(ledger.directory, 'git', 'stage')
  const stage = join(stages, String(epoch))
  const repos: ClonedRepo[] = []
  let seat: GitSeat | undefined
  try {
    signal.throwIfAborted()
    // What a killed host left: nothing of it is used.
    await rm(stages, { recursive: true, force: true })
    if (openServer !== undefined) seat = await startServer(work, openServer, total)
    for (const [at, repo] of plans.entries()) {
      const place = { step: at + 1 + first, total, description: `Clone ${repo.name}` }
      const used = repos.reduce((bytes, { bytes: more }) => bytes + more, 0)
      const maxBytes = Math.max(1, WORKSPACE_MAX_BYTES - used)
      repos.push(await cloneOne(work, repo, place, { stage, maxBytes, deadline: startedMs + CLONE_LIMIT_MS, seat }))
      failpoint('workspace.placed')
    }
  } finally {
    giveBack()
    await rm(stage, { recursive: true, force: true })
    await rmdir(stages).catch(() => {})
  }
  signal.throwIfAborted()
  const seconds = (Date.now() - startedMs) / 1000
  const isCached = repos.every(({ cached }) => cached)
  await write(() => ledger.record('platform.setup.completed', { total, cached: isCached, duration_s: seconds }))
  await write(() => ledger.record('platform.git.ready', { repos, server: seat?.baseUrl ?? null }))
  failpoint('workspace.ready')
}

async function startServer(
  { ledger, write }: WorkspaceWork,
  openServer: () => Promise<GitSeat>,
  total: number,
): Promise<GitSeat> {
  const place = { step: 1, total, description: 'Start the git server' }
  await write(() => ledger.record('platform.setup.progress', place))
  const seat = await openServer()
  await write(() => ledger.record('platform.setup.progress', { ...place, exit_code: 0 }))
  return seat
}

interface Bounds {
  stage: string
  maxBytes: number
  deadline: number
  seat: GitSeat | undefined
}

async function cloneOne(
  { home, ledger, coordination, token, write, signal }: WorkspaceWork,
  repo: RepoPlan,
  place: Pick<SetupProgress, 'step' | 'total' | 'description'>,
  { stage, maxBytes, deadline, seat }: Bounds,
): Promise<ClonedRepo> {
  await write(() => ledger.record('platform.setup.progress', { ...place, fraction: 0 }))
  const tell = ({ phase, fraction }: FetchProgress) => {
    if (signal.aborted) return
    // An event of progress may be lost, for example while the disk is full.
    write(() => ledger.record('platform.setup.progress', { ...place, output: phase, fraction })).catch(() => {})
  }
  const access = await openGitAccess(repo.url, gitHosts(), token)
  try {
    const work = { repo, access, deadline, signal }
    const remote = seat && { url: `${seat.baseUrl}/admin/${repo.name}.git`, helper: seat.helper }
    const cloned = await withCache(home, work, tell, async (cached) => {
      const made = await cloneFromCache(work, cached, stage, maxBytes, remote)
      const directory = join(ledger.directory, 'git')
      await makeHostRepository(work, cached, made, { stage: join(stage, 'bare'), directory })
      return made
    })
    signal.throwIfAborted()
    await seat?.place(repo.name, stage, signal)
    failpoint('workspace.cloned')
    await coordination.placeInWorkspace(repo.name, join(stage, repo.name))
    const output = notes(cloned)
    await write(() =>
      ledger.record('platform.setup.progress', {
        ...place,
        ...(output === '' ? {} : { output }),
        exit_code: 0,
        fraction: 1,
      }),
    )
    return cloned
  } finally {
    await access.close()
  }
}

/** What a person must know of a clone that is not whole. */
function notes({ commit, lfs, submodules }: ClonedRepo): string {
  const parts = [
    ...(commit === null ? ['the repository is empty'] : []),
    ...(lfs === 0 ? [] : [`${lfs} ${lfs === 1 ? 'file is only a pointer' : 'files are only pointers'} to Git LFS`]),
    ...(submodules.length === 0 ? [] : [`submodules stay empty: ${submodules.join(', ')}`]),
  ]
  return parts.join('; ')
}
