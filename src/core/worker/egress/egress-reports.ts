/**
 * Combines refusals of the proxy into few events: the first of each kind at once, repetitions together once a minute (R17,
 * platform.egress.denied).
 */
import { EGRESS_REPORT_KINDS_MAX, EGRESS_REPORT_MS } from '../../limits.ts'

/**
 * not_allowed: no rule names the host with this port. forbidden_address: the name leads to this machine or its own networks.
 * malformed: not a plain `host:port`, or not a proxy request. too_many: too many connections at once.
 */
export type DenialReason = 'not_allowed' | 'forbidden_address' | 'malformed' | 'too_many'

export interface Denial {
  host: string
  /** 0 where the request named none. */
  port: number
  reason: DenialReason
  /** The number of refusals since the last event of this kind. */
  count: number
}

export class EgressReports {
  readonly #report: (denial: Denial) => void
  readonly #waiting = new Map<string, Denial>()
  readonly #timer: NodeJS.Timeout

  constructor(report: (denial: Denial) => void, windowMs = EGRESS_REPORT_MS) {
    this.#report = report
    this.#timer = setInterval(() => this.flush(), windowMs).unref()
  }

  note(host: string, port: number, reason: DenialReason): void {
    const key = `${host} ${port} ${reason}`
    const before = this.#waiting.get(key)
    if (before !== undefined) {
      before.count += 1
      return
    }
    if (this.#waiting.size >= EGRESS_REPORT_KINDS_MAX) {
      // A worker that invents names would fill the journal: further kinds are only counted.
      this.#noteOther(reason)
      return
    }
    this.#waiting.set(key, { host, port, reason, count: 0 })
    this.#report({ host, port, reason, count: 1 })
  }

  /** Reports the repetitions, and starts counting again. */
  flush(): void {
    for (const denial of this.#waiting.values()) if (denial.count > 0) this.#report(denial)
    this.#waiting.clear()
  }

  close(): void {
    clearInterval(this.#timer)
    this.flush()
  }

  #noteOther(reason: DenialReason): void {
    const key = `* 0 ${reason}`
    const other = this.#waiting.get(key) ?? { host: '*', port: 0, reason, count: 0 }
    other.count += 1
    this.#waiting.set(key, other)
  }
}
