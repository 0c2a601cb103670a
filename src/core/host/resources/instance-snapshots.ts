/**
 * Takes snapshots of an instance's repositories: at each phase, at a pause and at the end (docs/git.md, Seeing the work). {@link
 * file://./../lifecycle/instance-host.ts} calls it. No failure of a snapshot reaches the run: it is a warning.
 */
import { diffRepo } from '../../changes/diff.ts'
import { openHostRepo } from '../../changes/host-repo.ts'
import { listSnapshots, takeSnapshot } from '../../changes/snapshot.ts'
import { sidesOf, snapshotWork } from '../../changes/work-place.ts'
import { fail } from '../../errors.ts'
import { failpoint } from '../../failpoints.ts'
import { SNAPSHOT_LIMIT_MS } from '../../limits.ts'
import type { ClonedRepo } from '../../protocol/workspace.ts'
import { pathsIn } from '../../store/home.ts'
import { cleanLine } from '../../view/clean.ts'
import type { Ledger } from '../ledger/ledger.ts'

export interface SnapshotParts {
  ledger: Ledger
  home: string
  epoch: number
  write: (line: () => void) => Promise<void>
}

export class InstanceSnapshots {
  readonly #parts: SnapshotParts
  readonly #abort = new AbortController()
  #phases: number
  /** The phase of an earlier host that may lack its snapshot. */
  #inherited: string | undefined
  #wanted: string | undefined
  #running: Promise<void> | undefined
  /** Reading took too long once: until the end it is not tried again, so that no phase waits for it. */
  #isSlow = false

  constructor(parts: SnapshotParts) {
    this.#parts = parts
    const { phases } = parts.ledger.story
    this.#inherited = this.#isUntold() ? this.#phaseCause : undefined
    this.#phases = phases.length - (this.#inherited === undefined ? 0 : 1)
  }

  /** After the events were read: a new phase wants a snapshot. Of many at once, the last one gets it. */
  check(): void {
    const { phases } = this.#parts.ledger.story
    if (phases.length <= this.#phases) return
    this.#phases = phases.length
    if (this.#isSlow || this.#abort.signal.aborted) return
    this.#wanted = this.#phaseCause
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

  get #phaseCause(): string {
    const { phases } = this.#parts.ledger.story
    return `phase ${cleanLine(phases.at(-1)?.name ?? '').slice(0, 100)}`
  }

  /** An earlier host was killed between a phase and the telling of its snapshot. */
  #isUntold(): boolean {
    const { phases, snapshots = [] } = this.#parts.ledger.story
    const isKnown = snapshots.some(({ cause }) => cause === 'pause' || cause === this.#phaseCause)
    return phases.length > 0 && !isKnown && this.#parts.epoch > 1
  }

  async #takeWanted(): Promise<void> {
    for (let cause = this.#wanted; cause !== undefined; cause = this.#wanted) {
      this.#wanted = undefined
      await this.#take(cause, false)
      this.#inherited = undefined
    }
    this.#running = undefined
  }

  async #take(cause: string, isLast: boolean): Promise<void> {
    for (const repo of this.#parts.ledger.story.repos ?? []) {
      if (this.#abort.signal.aborted) return
      const startedMs = Date.now()
      try {
        await this.#takeOne(repo, cause, isLast)
      } catch (error) {
        if (this.#abort.signal.aborted) return
        this.#isSlow ||= Date.now() - startedMs >= SNAPSHOT_LIMIT_MS
        await this.#warn(repo.name, error)
      }
    }
  }

  async #takeOne(repo: ClonedRepo, cause: string, isLast: boolean): Promise<void> {
    const { ledger, home } = this.#parts
    const { signal } = this.#abort
    const { creation } = ledger.story
    const work = await snapshotWork({ home, creation, paths: pathsIn(ledger.directory) }, repo, signal)
    const git = await openHostRepo(work.path, signal)
    if (git === undefined) return
    try {
      const isKept = cause === this.#inherited && (await listSnapshots(git)).at(-1)?.cause === cause
      const taken = isKept || (await takeSnapshot(work, cause, isLast)) !== undefined
      if (!taken && isLast) throw fail('work_unreadable', { reason: 'its clone was removed.' })
    } finally {
      await this.#tell(repo, work.path)
    }
  }

  /** The repository is the truth: what a killed host kept and did not tell is told now, and nothing twice. */
  async #tell(repo: ClonedRepo, path: string): Promise<void> {
    const { ledger, write } = this.#parts
    const { signal } = this.#abort
    const git = await openHostRepo(path, signal)
    if (git === undefined) return
    const told = ledger.story.snapshots?.find((one) => one.repo === repo.name)?.seq ?? 0
    for (const snapshot of await listSnapshots(git)) {
      if (snapshot.seq <= told) continue
      const {
        files_total: files,
        additions,
        deletions,
      } = await diffRepo(git, sidesOf(repo, snapshot, snapshot.seq), {})
      if (signal.aborted) return
      const { seq, commit, cause, skipped, skipped_total = skipped.length } = snapshot
      const data = { repo: repo.name, seq, commit, cause, files, additions, deletions, skipped, skipped_total }
      await write(() => ledger.record('platform.git.snapshot', data))
      failpoint('snapshot.told')
    }
  }

  async #warn(repo: string, error: unknown): Promise<void> {
    const { ledger, write } = this.#parts
    const reason = error instanceof Error ? error.message : String(error)
    const detail = cleanLine(`${repo}: ${reason}`).slice(0, 500)
    const data = { kind: 'snapshot_failed', value: 1, limit: 0, detail }
    await write(() => ledger.record('platform.watchdog.warning', data)).catch(() => {})
  }
}
