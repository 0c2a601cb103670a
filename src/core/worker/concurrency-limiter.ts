/**
 * Limits how many run at once of each kind; more of them wait in the order they came, and what comes when too many wait is refused.
 * Inquiries and the starts of local workers take turns with it; docs/dependencies.md tells why it is no library.
 */
import { fail } from '../errors.ts'

export interface ConcurrencyLimits {
  atOnce: number
  waiting: number
}

export class ConcurrencyLimiter {
  readonly #limits: ConcurrencyLimits
  readonly #what: string
  readonly #busy = new Map<string, { running: number; waiting: (() => void)[] }>()

  /** `what` names them in the refusal. */
  constructor(what: string, limits: ConcurrencyLimits) {
    this.#what = what
    this.#limits = limits
  }

  /**
   * Resolves with the function that gives the turn back; calling it twice does no harm. Throws `too_many`.
   * Where the signal aborts the wait it resolves at once, without a turn.
   */
  async take(kind: string, signal?: AbortSignal): Promise<() => void> {
    const line = this.#busy.get(kind) ?? { running: 0, waiting: [] }
    this.#busy.set(kind, line)
    if (line.running < this.#limits.atOnce) line.running += 1
    else if (line.waiting.length < this.#limits.waiting) {
      if (!(await waitIn(line.waiting, signal))) return () => {}
    } else throw fail('too_many', { what: this.#what, limit: this.#limits.atOnce + this.#limits.waiting })
    let isGivenBack = false
    return () => {
      if (isGivenBack) return
      isGivenBack = true
      const next = line.waiting.shift()
      // Handed on, the turn stays taken.
      if (next !== undefined) next()
      else line.running -= 1
      if (line.running === 0) this.#busy.delete(kind)
    }
  }
}

/** Whether the turn came. */
async function waitIn(waiting: (() => void)[], signal: AbortSignal | undefined): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const go = () => resolve(true)
  const leave = () => {
    const at = waiting.indexOf(go)
    // Its turn may have come in this very moment.
    if (at === -1) return
    waiting.splice(at, 1)
    resolve(false)
  }
  waiting.push(go)
  signal?.addEventListener('abort', leave)
  if (signal?.aborted === true) leave()
  return await promise.finally(() => signal?.removeEventListener('abort', leave))
}
