/**
 * The queue of a home: how many instances may have a worker at the same time, for all hosts of the home together. It keeps nothing of
 * its own: who runs and who waits is read from the journals, so that a killed host loses no place. A host asks it before
 * the first launch of a worker and before a resumed one.
 */
import { join } from 'node:path'
import { ResolveError, systemCode } from '../../errors.ts'
import { failpoint } from '../../failpoints.ts'
import { withLock } from '../../files/lock.ts'
import { isSameProcess } from '../../files/process-identity.ts'
import { ATTEND_NEWBORN_MS, QUEUE_LOOK_MS, QUEUE_MEND_MS } from '../../limits.ts'
import { hasWorker, isTerminal } from '../../protocol/status.ts'
import { instancePaths } from '../../store/home.ts'
import type { InstanceIndex } from '../../store/instance-index.ts'
import { readCreationRecord } from '../../store/journal-reader.ts'
import { readOwner } from '../../store/owners.ts'
import { lastRecord, readRecord } from '../../store/record.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { PassedOver } from './passed-over.ts'
import { isNews, type Standing, type Turn, turnsOf, type Waiting } from './turns.ts'

export interface HomeQueueParts {
  home: string
  index: InstanceIndex
  /** How many instances of the home may have a worker; undefined for any number. */
  maxRunning: number | undefined
  /** Makes sure that a live host owns an instance; waiting for one that has none would never end. */
  ensureHost: (id: string) => Promise<void>
}

/** What one look at the home showed, and what follows from it for each bound. */
interface Seen {
  /** Milliseconds of the monotonic clock. */
  at: number
  standing: Standing
  turns: Map<number | undefined, Map<string, Turn>>
}

export class HomeQueue {
  readonly #parts: HomeQueueParts
  readonly #wakers = new Set<() => void>()
  /** What a creation record says never changes. */
  readonly #facts = new Map<string, Waiting>()
  /** By bound: who does not act on its turn. */
  readonly #passed = new Map<number | undefined, PassedOver>()
  #seen: Seen | undefined
  #mendedAt = 0

  constructor(parts: HomeQueueParts) {
    this.#parts = parts
  }

  /** Whether a bound applies to the instance: the one of this host, of its resolver, or of the host before this one. */
  isBounded(ledger: Ledger): boolean {
    return this.#limitFor(ledger) !== undefined || maxRunningOf(ledger) !== undefined
  }

  /** An instance of this process has ended or paused: those that wait here look at once. */
  ring(): void {
    this.#seen = undefined
    for (const wake of this.#wakers) wake()
  }

  /** Resolves when it is the instance's turn, which is then in its journal, or when the signal aborts. */
  async take(ledger: Ledger, signal: AbortSignal): Promise<void> {
    const id = ledger.story.creation.instance_id
    const limit = this.#limitFor(ledger)
    while (!signal.aborted) {
      await this.#prepare()
      const turn = this.#turnOf(id, limit, this.#look())
      if (turn === 'start') {
        if (await this.#start(ledger, limit, signal)) return
      } else this.#tell(ledger, turn)
      await this.#pause(signal)
      if (!signal.aborted) await this.#mend(limit)
    }
  }

  /** Of all processes of the home one at a time decides and writes its decision. False where another was faster, or the disk is full. */
  async #start(ledger: Ledger, limit: number | undefined, signal: AbortSignal): Promise<boolean> {
    const { home } = this.#parts
    const id = ledger.story.creation.instance_id
    return await withLock(join(home, 'queue.lock'), async () => {
      failpoint('queue.locked')
      this.#seen = undefined
      await this.#prepare()
      const turn = this.#turnOf(id, limit, this.#look())
      if (signal.aborted || turn !== 'start') return false
      try {
        if (ledger.status === 'created') ledger.move('starting')
        else ledger.record('platform.instance.dequeued', { waited_s: waitedSeconds(ledger) })
      } catch (error) {
        if (error instanceof ResolveError && error.code === 'disk_full') return false
        throw error
      } finally {
        this.#seen = undefined
      }
      failpoint('queue.granted')
      return true
    }).catch((error: unknown) => {
      // No lock can be made on a full disk, and a lock may be held for long: both pass.
      const isPassing = systemCode(error) === 'ENOSPC' || systemCode(error) === 'EDQUOT'
      if (isPassing || (error instanceof ResolveError && error.code === 'lock_held')) return false
      throw error
    })
  }

  #tell(ledger: Ledger, place: Exclude<Turn, 'start'>): void {
    if (!isNews(ledger.story.queue, place)) return
    try {
      ledger.record('platform.instance.queued', place)
    } catch (error) {
      // The place is told when the disk has room again.
      if (!(error instanceof ResolveError) || error.code !== 'disk_full') throw error
    }
    this.#seen = undefined
    failpoint('queue.told')
  }

  /** Waits for a ring, or a while: other processes end their instances without ringing here. */
  async #pause(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, QUEUE_LOOK_MS)
    this.#wakers.add(resolve)
    signal.addEventListener('abort', () => resolve(), { once: true })
    await promise
    clearTimeout(timer)
    this.#wakers.delete(resolve)
  }

  /** Instances that hold a place, or whose turn it is, and have no live host: one is found for each. */
  async #mend(limit: number | undefined): Promise<void> {
    const now = performance.now()
    if (now - this.#mendedAt < QUEUE_MEND_MS) return
    this.#mendedAt = now
    const seen = this.#look()
    const due = seen.standing.waiting.filter(
      ({ id, since }) =>
        this.#turnOf(id, limit, seen) === 'start' && Math.abs(Date.now() - Date.parse(since)) > ATTEND_NEWBORN_MS,
    )
    for (const { id } of [...seen.standing.running, ...due]) await this.#parts.ensureHost(id).catch(() => {})
  }

  #turnOf(id: string, limit: number | undefined, seen: Seen): Turn {
    const passed = this.#passedUnder(limit)
    const turns = seen.turns.get(limit) ?? this.#turnsOf(limit, seen, passed)
    const turn = turns.get(id)
    if (turn !== undefined) return turn
    // One that was passed over keeps its place by age, and starts as any other: only where there is room.
    const standing = passed.has(id)
      ? passed.without(seen.standing, id)
      : this.#withWaiting(id, passed.without(seen.standing))
    return turnsOf(standing, limit).get(id) ?? 'start'
  }

  /** The turns of a look, without the instances that did not act on theirs. Only places are given away so: who has a worker counts always. */
  #turnsOf(limit: number | undefined, { at, standing, turns: known }: Seen, passed: PassedOver): Map<string, Turn> {
    passed.begin(at)
    let turns = turnsOf(passed.without(standing), limit)
    while (passed.note(at, turns)) turns = turnsOf(passed.without(standing), limit)
    known.set(limit, turns)
    return turns
  }

  #passedUnder(limit: number | undefined): PassedOver {
    const passed = this.#passed.get(limit) ?? new PassedOver()
    this.#passed.set(limit, passed)
    return passed
  }

  /** A resumed instance counts as running until its place is told: for itself it waits. */
  #withWaiting(id: string, { running, waiting }: Standing): Standing {
    const since = new Date().toISOString()
    return {
      running: running.filter((one) => one.id !== id),
      waiting: [...waiting, { ...this.#factsOf(id), since }],
    }
  }

  /** The records that the next look needs of long journals are read before, in turns. */
  async #prepare(): Promise<void> {
    if (!this.#isStale()) return
    const { index } = this.#parts
    for (const id of index.ids()) {
      const prepared = index.ready(id)
      if (prepared !== undefined) await prepared
    }
  }

  #isStale(): boolean {
    return this.#seen === undefined || performance.now() - this.#seen.at > QUEUE_LOOK_MS / 2
  }

  #look(): Seen {
    if (this.#seen === undefined || this.#isStale()) {
      this.#seen = { at: performance.now(), standing: this.#read(), turns: new Map() }
    }
    return this.#seen
  }

  #read(): Standing {
    const running: { id: string; resolver: string }[] = []
    const waiting: Waiting[] = []
    const { home, index } = this.#parts
    for (const id of index.ids()) {
      try {
        const { status, resolver } = index.read(id)
        if (isTerminal(status) || status === 'paused') continue
        const since = status === 'running' ? readRecord(instancePaths(home, id)).queue?.since : undefined
        if (status === 'created') waiting.push(this.#factsOf(id))
        else if (since !== undefined) waiting.push({ ...this.#factsOf(id), since })
        else running.push({ id, resolver })
      } catch {
        const held = this.#heldUnread(id)
        if (held !== undefined) running.push(held)
      }
    }
    return { running, waiting }
  }

  /**
   * A place that is held by an instance whose journal can't be read: it had a worker when its record was stored, and the process of its
   * host lives. Without a host it holds none, because no host could adopt it and give the place back; `serve` and doctor report it.
   */
  #heldUnread(id: string): { id: string; resolver: string } | undefined {
    const paths = instancePaths(this.#parts.home, id)
    const record = lastRecord(paths)
    if (record === undefined || !hasWorker(record.status) || record.queue != null) return undefined
    const owner = readOwner(paths.owners)
    const isHeld = owner !== undefined && !owner.released && isSameProcess(owner.process)
    return isHeld ? { id, resolver: record.resolver } : undefined
  }

  #factsOf(id: string): Waiting {
    const known = this.#facts.get(id)
    if (known !== undefined) return known
    const { resolver, created_at: since } = readCreationRecord(instancePaths(this.#parts.home, id).journal)
    const facts = { id, resolver: resolver.name, maxRunning: resolver.manifest.max_running, since }
    this.#facts.set(id, facts)
    return facts
  }

  /** This host's bound; without one the bound under which an earlier host let it wait. */
  #limitFor(ledger: Ledger): number | undefined {
    const { queue } = ledger.story
    return this.#parts.maxRunning ?? (queue?.bound === 'home' ? queue.limit : undefined)
  }
}

function maxRunningOf(ledger: Ledger): number | undefined {
  return ledger.story.creation.resolver.manifest.max_running
}

function waitedSeconds(ledger: Ledger): number {
  const since = Date.parse(ledger.story.queue?.since ?? '')
  return Number.isNaN(since) ? 0 : Math.max(0, Math.round((Date.now() - since) / 100) / 10)
}
