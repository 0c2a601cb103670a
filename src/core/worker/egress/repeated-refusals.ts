/**
 * Knows which refused requests are repetitions, for {@link file://./egress-proxy.ts}. npm takes an answer of 403 or 502 to CONNECT as a
 * reason to connect again at once, without end; it counts a connection that is only closed as a failed try.
 */
import { EGRESS_REFUSALS_ANSWERED, EGRESS_REFUSALS_KEPT_MAX, EGRESS_REFUSALS_MS } from '../../limits.ts'

export class RepeatedRefusals {
  readonly #now: () => number
  /** The times of the last refusals of each client and target, at most as many as are answered. */
  readonly #times = new Map<string, number[]>()

  constructor(now = () => performance.now()) {
    this.#now = now
  }

  /** Notes a refusal, and returns whether it still gets an answer: false where as many came just before it. */
  mayAnswer(client: string, target: string): boolean {
    const key = `${client} ${target}`
    const now = this.#now()
    const times = this.#times.get(key) ?? []
    const recent = times.filter((at) => now - at < EGRESS_REFUSALS_MS)
    const [oldest] = this.#times.keys()
    if (this.#times.size >= EGRESS_REFUSALS_KEPT_MAX && oldest !== undefined) this.#times.delete(oldest)
    // Deleted first: the order of the map is the order of the refusals.
    this.#times.delete(key)
    this.#times.set(key, [...recent, now].slice(-EGRESS_REFUSALS_ANSWERED))
    return recent.length < EGRESS_REFUSALS_ANSWERED
  }
}
