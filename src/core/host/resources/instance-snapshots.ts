/**
 * Takes snapshots of an instance's repositories: at each phase, at a pause and at the end (docs/git.md, Seeing the work). {@link
 * file://./../lifecycle/instance-host.ts} calls it. No failure of a snapshot reaches the run: it is a warning.
 */
import { join } from 'node:path'
import { diffRepo } from '../../changes/diff.ts'
import { hostRepoPath, openHostRepo } from '../../changes/host-repo.ts'
import { readTreeInContainer } from '../../changes/read-tree-in-container.ts'
import { takeSnapshot } from '../../changes/snapshot.ts'
import type { Snapshot } from '../../protocol/changes.ts'
import type { ClonedRepo } from '../../protocol/workspace.ts'
import { pathsIn } from '../../store/home.ts'
import { cleanLine } from '../../view/clean.ts'
import type { Ledger } from '../ledger/ledger.ts'

export interface SnapshotParts {
  ledger: Ledger
  home: string
  write: (line: () => void) => Promise<void>
}

export class InstanceSnapshots {
  readonly #parts: SnapshotParts
  readonly #abort = new AbortController()
  #phases: number
  #wanted: string | undefined
  #running: Promise<void> | undefined

  constructor(parts: SnapshotParts) {
    this.#parts = parts
    this.#phases = parts.ledger.story.phases.length
  }

  /** After the events were read: a new phase wants a snapshot. Of many at once, the last one gets it. */
  check(): void {
    const { phases } = this.#parts.ledger.story
    if (phases.length <= this.#phases) return
    this.#phases = phases.length
    this.#wanted = `phase ${cleanLine(phases.at(-1)?.name ?? '').slice(0, 100)}`
    this.#running ??= this.#takeWanted()
  }

  /** The run is over, and no process of the worker is left. Returns when the last snapshot is there. */
  async finish(cause: 'pause' | 'end'): Promise<void> {
    this.#wanted = undefined
    await this.#running
    await this.#take(cause, true)
  }

  close(): void {
    this.#abort.abort()
  }

  async #takeWanted(): Promise<void> {
    for (let cause = this.#wanted; cause !== undefined; cause = this.#wanted) {
      this.#wanted = undefined
      await this.#take(cause, false)
    }
    this.#running = undefined
  }

  async #take(cause: string, isLast: boolean): Promise<void> {
    for (const repo of this.#parts.ledger.story.repos ?? []) {
      try {
        await this.#takeOne(repo, cause, isLast)
      } catch (error) {
        if (this.#abort.signal.aborted) return
        await this.#warn(repo.name, error)
      }
    }
  }

  async #takeOne(repo: ClonedRepo, cause: string, isLast: boolean): Promise<void> {
    const { ledger, home, write } = this.#parts
    const { signal } = this.#abort
    const { git: directory, project } = pathsIn(ledger.directory)
    const path = hostRepoPath(directory, repo.name)
    const git = await openHostRepo(path, signal)
    if (git === undefined) return
    const { instance_id: instance, executor } = ledger.story.creation
    const owner = { home, instance, repo: repo.name, directory }
    const work = {
      path,
      tree: join(project, 'workspace', repo.name),
      workingBranch: repo.working_branch,
      ...(executor === 'docker' ? { read: readTreeInContainer(owner) } : {}),
      signal,
    }
    const taken = await takeSnapshot(work, cause, isLast)
    if (taken?.isNew !== true || signal.aborted) return
    const { snapshot } = taken
    const { files_total: files, additions, deletions } = await diffRepo(git, sidesOf(repo, snapshot), {})
    const { seq, commit, skipped } = snapshot
    await write(() =>
      ledger.record('platform.git.snapshot', {
        repo: repo.name,
        seq,
        commit,
        cause,
        files,
        additions,
        deletions,
        skipped,
      }),
    )
  }

  async #warn(repo: string, error: unknown): Promise<void> {
    const { ledger, write } = this.#parts
    const reason = error instanceof Error ? error.message : String(error)
    const detail = cleanLine(`${repo}: ${reason}`).slice(0, 500)
    const data = { kind: 'snapshot_failed', value: 1, limit: 0, detail }
    await write(() => ledger.record('platform.watchdog.warning', data)).catch(() => {})
  }
}

function sidesOf(repo: ClonedRepo, snapshot: Snapshot) {
  const { seq, commit, at, skipped } = snapshot
  const head = { seq, commit, at, skipped, live: false }
  return { repo: repo.name, base: repo.base, workingBranch: repo.working_branch, head }
}
