/** The work of instances in their repositories, on this machine (docs/git.md, Seeing the work). The room of git is loaded when it is used. */
import { fail } from '../../errors.ts'
import { HEADS, hostRepoPath, START } from '../../git/host-layout.ts'
import { LIVE_SNAPSHOT_MS } from '../../limits.ts'
import type { ChangedRepo, RepoDiff, Snapshot } from '../../protocol/changes.ts'
import { isTerminal } from '../../protocol/status.ts'
import type { ClonedRepo } from '../../protocol/workspace.ts'
import type { InstancePaths } from '../../store/home.ts'
import { cleanLine } from '../../view/clean.ts'
import type { Story } from '../../view/story.ts'
import type { GitWork, WorkDiffOptions } from '../platform.ts'

export interface LocalWorkParts {
  home: string
  /** Throws `instance_unknown`. */
  paths: (id: string) => InstancePaths
  story: (id: string) => Promise<Story>
}

export function localWork(parts: LocalWorkParts): GitWork {
  const works = new Works(parts)
  return {
    repos: async (id) => {
      const story = await parts.story(id)
      return await Promise.all((story.repos ?? []).map((repo) => works.look(id, repo)))
    },
    diff: async (id, repo, options = {}) => await works.diff(id, repo, options),
    commits: async (id, repo) => {
      const { historyOf } = await import('../../changes/history.ts')
      const found = await works.find(id, repo)
      return await historyOf(found.git, found.repo.name)
    },
    pulls: async (id, repo) => {
      const story = await parts.story(id)
      const { name } = works.named(story, repo)
      const pulls = (story.git?.pulls ?? []).filter((pull) => pull.repo === name)
      return pulls.map(({ repo: _, action, ...pull }) => ({ ...pull, state: action }))
    },
    bundle: async (id, repo, { whole = false } = {}) => {
      const { bundleOf } = await import('../../changes/history.ts')
      const found = await works.find(id, repo)
      if (found.isLive) await works.live(id, found).catch(() => undefined)
      return await bundleOf(found.path, whole)
    },
  }
}

class Works {
  readonly #parts: LocalWorkParts
  /** What was read for a reader a moment ago. */
  readonly #live = new Map<string, { at: number; taken: ReturnType<Works['take']> }>()

  constructor(parts: LocalWorkParts) {
    this.#parts = parts
  }

  named(story: Story, name: string): ClonedRepo {
    const repos = story.repos ?? []
    const found = repos.find((repo) => repo.name === name)
    if (found === undefined)
      throw fail('repo_unknown', { repo: cleanLine(name).slice(0, 100), names: repos.map((repo) => repo.name) })
    return found
  }

  async find(id: string, name: string) {
    const { openHostRepo } = await import('../../changes/host-repo.ts')
    const story = await this.#parts.story(id)
    const repo = this.named(story, name)
    const paths = this.#parts.paths(id)
    const path = hostRepoPath(paths.git, repo.name)
    const git = await openHostRepo(path)
    if (git === undefined)
      throw fail('change_unknown', { what: 'record of changes: the instance is of an older version' })
    return { id, story, repo, paths, path, git, isLive: !isTerminal(story.status) }
  }

  async look(id: string, repo: ClonedRepo): Promise<ChangedRepo> {
    const { openHostRepo } = await import('../../changes/host-repo.ts')
    const { listSnapshots } = await import('../../changes/snapshot.ts')
    const git = await openHostRepo(hostRepoPath(this.#parts.paths(id).git, repo.name))
    const { name, url, base, working_branch } = repo
    const known = { name, url, base, working_branch }
    if (git === undefined) return { ...known, start: repo.commit, pushed: null, snapshot: null, kept: false }
    return {
      ...known,
      start: (await git.commitOf(START)) ?? null,
      pushed: (await git.commitOf(`${HEADS}${working_branch}`)) ?? null,
      snapshot: (await listSnapshots(git)).at(-1) ?? null,
      kept: true,
    }
  }

  async diff(id: string, name: string, { snapshot, ...options }: WorkDiffOptions): Promise<RepoDiff> {
    const { diffRepo } = await import('../../changes/diff.ts')
    const { openHostRepo } = await import('../../changes/host-repo.ts')
    const found = await this.find(id, name)
    const sides = await this.#sides(found, snapshot)
    // With a deadline of its own: to read the work takes time.
    const git = (await openHostRepo(found.path)) ?? found.git
    return await diffRepo(git, sides, options)
  }

  async #sides(found: Awaited<ReturnType<Works['find']>>, wanted: WorkDiffOptions['snapshot']) {
    const { listSnapshots } = await import('../../changes/snapshot.ts')
    const { sidesOf } = await import('../../changes/work-place.ts')
    const { git, repo, id, isLive } = found
    if (wanted === 'pushed') {
      const commit = await git.commitOf(`${HEADS}${repo.working_branch}`)
      if (commit === undefined) throw fail('change_unknown', { what: 'pushed branch' })
      const at = new Date(await git.text('log', '-1', '--no-show-signature', '--format=%cI', commit)).toISOString()
      return sidesOf(repo, { commit, at, skipped: [] }, null)
    }
    if (wanted === undefined && isLive) {
      const live = await this.live(id, found)
      if (live !== undefined) return sidesOf(repo, live, null, true)
    }
    const all = await listSnapshots(git)
    const one: Snapshot | undefined = typeof wanted === 'number' ? all.find(({ seq }) => seq === wanted) : all.at(-1)
    if (one === undefined)
      throw fail('change_unknown', { what: typeof wanted === 'number' ? `snapshot ${wanted}` : 'snapshot' })
    return sidesOf(repo, one, one.seq)
  }

  /** The work as it is now, at most {@link LIVE_SNAPSHOT_MS} old. */
  async live(id: string, found: Awaited<ReturnType<Works['find']>>): ReturnType<Works['take']> {
    const key = `${id}/${found.repo.name}`
    const known = this.#live.get(key)
    if (known !== undefined && Date.now() - known.at < LIVE_SNAPSHOT_MS) return await known.taken
    const taken = this.take(found)
    // Only those that serve another reader are kept.
    for (const [other, { at }] of this.#live) if (Date.now() - at > LIVE_SNAPSHOT_MS) this.#live.delete(other)
    this.#live.set(key, { at: Date.now(), taken })
    return await taken
  }

  async take({ repo, paths, story: { creation } }: Awaited<ReturnType<Works['find']>>) {
    const { takeLive } = await import('../../changes/snapshot.ts')
    const { snapshotWork } = await import('../../changes/work-place.ts')
    return await takeLive(await snapshotWork({ home: this.#parts.home, creation, paths }, repo))
  }
}
