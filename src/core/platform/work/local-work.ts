/** The work of instances in their repositories, on this machine (docs/git.md, Seeing the work). The room of git is loaded when it is used. */
import { join } from 'node:path'
import { fail } from '../../errors.ts'
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
      const { name } = works.named(await parts.story(id), repo)
      return await works.pulls(id, name)
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
    const { hostRepoPath, openHostRepo } = await import('../../changes/host-repo.ts')
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
    const { HEADS, START, hostRepoPath, openHostRepo } = await import('../../changes/host-repo.ts')
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
    const { repo } = found
    const head = await this.#head(found, snapshot)
    // With a deadline of its own: to read the work takes time.
    const git = (await openHostRepo(found.path)) ?? found.git
    return await diffRepo(git, { repo: repo.name, base: repo.base, workingBranch: repo.working_branch, head }, options)
  }

  async #head(found: Awaited<ReturnType<Works['find']>>, wanted: WorkDiffOptions['snapshot']) {
    const { listSnapshots } = await import('../../changes/snapshot.ts')
    const { HEADS } = await import('../../changes/host-repo.ts')
    const { git, repo, id, isLive } = found
    if (wanted === 'pushed') {
      const commit = await git.commitOf(`${HEADS}${repo.working_branch}`)
      if (commit === undefined) throw fail('change_unknown', { what: 'pushed branch' })
      const at = new Date(await git.text('log', '-1', '--no-show-signature', '--format=%cI', commit)).toISOString()
      return { commit, at, skipped: [], seq: null, live: false }
    }
    if (wanted === undefined && isLive) {
      const live = await this.live(id, found)
      if (live !== undefined) return { ...live, seq: null, live: true }
    }
    const all = await listSnapshots(git)
    const one: Snapshot | undefined = typeof wanted === 'number' ? all.find(({ seq }) => seq === wanted) : all.at(-1)
    if (one === undefined)
      throw fail('change_unknown', { what: typeof wanted === 'number' ? `snapshot ${wanted}` : 'snapshot' })
    return { ...one, live: false }
  }

  /** The work as it is now, at most {@link LIVE_SNAPSHOT_MS} old. */
  async live(id: string, found: Awaited<ReturnType<Works['find']>>): ReturnType<Works['take']> {
    const key = `${id}/${found.repo.name}`
    const known = this.#live.get(key)
    if (known !== undefined && Date.now() - known.at < LIVE_SNAPSHOT_MS) return await known.taken
    const taken = this.take(id, found)
    // Only those that serve another reader are kept.
    for (const [other, { at }] of this.#live) if (Date.now() - at > LIVE_SNAPSHOT_MS) this.#live.delete(other)
    this.#live.set(key, { at: Date.now(), taken })
    return await taken
  }

  async take(id: string, { repo, paths, path, story }: Awaited<ReturnType<Works['find']>>) {
    const { takeLive } = await import('../../changes/snapshot.ts')
    const { home } = this.#parts
    const inContainer = async () => {
      const { readTreeInContainer } = await import('../../changes/read-tree-in-container.ts')
      return readTreeInContainer({ home, instance: id, repo: repo.name, directory: paths.git })
    }
    return await takeLive({
      path,
      tree: join(paths.project, 'workspace', repo.name),
      workingBranch: repo.working_branch,
      ...(story.creation.executor === 'docker' ? { read: await inContainer() } : {}),
    })
  }

  async pulls(id: string, name: string) {
    const { git } = await this.#parts.story(id)
    const pulls = (git?.pulls ?? []).filter(({ repo }) => repo === name)
    return pulls.map(({ repo: _, action, ...pull }) => ({ ...pull, state: action }))
  }
}
