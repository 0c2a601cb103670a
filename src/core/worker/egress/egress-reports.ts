/** Makes few events of many refusals: the first of a kind at once, its repetitions together once a minute (R17, platform.egress.denied). */
import { EGRESS_REPORT_KINDS_MAX, EGRESS_REPORT_MS } from '../../limits.ts'

/**
 * not_allowed: no rule names the host with this port. forbidden_address: the name leads to this machine or its own networks.
 * malformed: no plain `host:port`, or no request to a proxy. too_many: more connections at once than a worker gets.
 */
export type DenialReason = 'not_allowed' | 'forbidden_address' | 'malformed' | 'too_many'

export interface Denial {
  host: string
  /** 0 where none was named. */
  port: number
  reason: DenialReason
  /** How many times, since the last event about it. */
  count: number
}

export class EgressReports {
  readonly #tell: (denial: Denial) => void
  readonly #waiting = new Map<string, Denial>()
  readonly #timer: NodeJS.Timeout

  constructor(tell: (denial: Denial) => void, windowMs = EGRESS_REPORT_MS) {
    this.#tell = tell
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
      // Somebody makes up names: what they are is not worth a journal.
      this.#noteOther(reason)
      return
    }
    this.#waiting.set(key, { host, port, reason, count: 0 })
    this.#tell({ host, port, reason, count: 1 })
  }

  /** Tells what was repeated, and begins anew. */
  flush(): void {
    for (const denial of this.#waiting.values()) if (denial.count > 0) this.#tell(denial)
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
