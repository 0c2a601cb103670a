/**
 * Finds the live instances of a home for `serve`, which calls it every few seconds. Instances that have ended are not read
 * again, so ten thousand of them cost one directory listing.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isTerminal, type Status } from '../../protocol/status.ts'
import { instancePaths } from '../../store/home.ts'
import { fingerprintOf, InstanceIndex } from '../../store/instance-index.ts'
import { UNSETTLED } from '../../store/instance-index-file.ts'
import { lastRecord, readRecord } from '../../store/record.ts'
import { isLost } from '../../view/lost-worker.ts'

/** An instance that has not ended. */
export interface LiveInstance {
  id: string
  status: Status
  /** Milliseconds since 1970. */
  createdAt: number
}

export interface LiveInstanceReport {
  /** The instances that need a host: neither ended nor paused. */
  live: LiveInstance[]
  counts: Partial<Record<Status, number>>
  /** The instances that are paused because their worker was lost (R58). */
  lost?: string[]
  /** The instances that cannot be read, and why. `isLive`: one had not ended when its record was stored, so a host may repair its journal. */
  broken: { id: string; error: unknown; isLive?: boolean }[]
}

/** How long one pass runs before it yields to other work of its process. */
const TURN_MS = 10

export class LiveInstances {
  readonly #home: string
  readonly #index: InstanceIndex
  /** Read again only when the instance's files change. */
  /** Paused instances: whether the worker was lost, and the files that this was read from. */
  readonly #paused = new Map<string, { isLost: boolean; fingerprint: string }>()
  readonly #broken = new Map<string, { error: unknown; isLive: boolean; fingerprint: string }>()

  constructor(home: string, index = new InstanceIndex(home)) {
    this.#home = home
    this.#index = index
  }

  /** Throws `home_unusable`. A damaged instance is reported in `broken` and does not hide the others. */
  async look(): Promise<LiveInstanceReport> {
    const report = {
      live: [],
      counts: {},
      lost: [],
      broken: [],
    } satisfies LiveInstanceReport as Required<LiveInstanceReport>
    const ids = this.#index.ids()
    this.#forgetAllBut(ids)
    let since = performance.now()
    for (const id of ids) {
      const prepared = this.#broken.has(id) ? undefined : this.#index.ready(id)
      if (prepared !== undefined) await prepared
      this.#count(id, report)
      if (performance.now() - since < TURN_MS) continue
      await nextTurn()
      since = performance.now()
    }
    this.#index.save()
    return report
  }

  #count(id: string, report: Required<LiveInstanceReport>): void {
    const known = this.#broken.get(id)
    const fingerprint = known === undefined ? UNSETTLED : fingerprintOf(instancePaths(this.#home, id))
    if (known !== undefined && fingerprint !== UNSETTLED && known.fingerprint === fingerprint) {
      report.broken.push({ id, error: known.error, isLive: known.isLive })
      return
    }
    try {
      const { status, order } = this.#index.read(id)
      this.#broken.delete(id)
      report.counts[status] = (report.counts[status] ?? 0) + 1
      if (status === 'paused' && this.#isLost(id)) report.lost.push(id)
      if (status !== 'paused') this.#paused.delete(id)
      if (isTerminal(status) || status === 'paused') return
      report.live.push({ id, status, createdAt: Date.parse(order.slice(0, order.lastIndexOf('|'))) })
    } catch (error) {
      const paths = instancePaths(this.#home, id)
      const last = lastRecord(paths)?.status
      const isLive = last !== undefined && !isTerminal(last) && last !== 'paused'
      this.#broken.set(id, { error, isLive, fingerprint: fingerprintOf(paths) })
      report.broken.push({ id, error, isLive })
    }
  }

  /** A paused instance is read again only when its files change. */
  #isLost(id: string): boolean {
    const paths = instancePaths(this.#home, id)
    const fingerprint = fingerprintOf(paths)
    const known = this.#paused.get(id)
    if (known !== undefined && fingerprint !== UNSETTLED && known.fingerprint === fingerprint) return known.isLost
    const found = isLost(readRecord(paths))
    this.#paused.set(id, { isLost: found, fingerprint })
    return found
  }

  #forgetAllBut(ids: readonly string[]): void {
    if (this.#broken.size + this.#paused.size === 0) return
    const present = new Set(ids)
    for (const id of this.#broken.keys()) if (!present.has(id)) this.#broken.delete(id)
    for (const id of this.#paused.keys()) if (!present.has(id)) this.#paused.delete(id)
  }
}
