/**
 * The waiting instances that do not act on their turn, because their process is suspended or has another bound. Others go before
 * them, so that one stopped process does not stop the queue. Pure but for its memory; {@link file://./home-queue.ts} has one for each bound.
 */
import { QUEUE_PASS_MS, QUEUE_PASSED_MS } from '../../limits.ts'
import type { Standing, Turn } from './turns.ts'

export class PassedOver {
  /** Since when it has been the turn of an instance. */
  readonly #since = new Map<string, number>()
  /** Until when an instance is passed over. Then it has its turn again: its process may have gone on. */
  readonly #until = new Map<string, number>()
  #lookedAt = Number.NEGATIVE_INFINITY

  /** The instances that count for the turns of others; `but`: one that counts in any case, for its own turn. */
  without({ running, waiting }: Standing, but?: string): Standing {
    return { running, waiting: waiting.filter(({ id }) => id === but || !this.#until.has(id)) }
  }

  has(id: string): boolean {
    return this.#until.has(id)
  }

  /** Before a look at `now`, in milliseconds of the monotonic clock. */
  begin(now: number): void {
    // This process did not look for long, maybe suspended itself: it cannot tell whether the others acted.
    if (now - this.#lookedAt > QUEUE_PASS_MS) this.#since.clear()
    this.#lookedAt = now
    for (const [id, until] of this.#until) if (until <= now) this.#until.delete(id)
  }

  /** Notes whose turn it is. True where one more is passed over from now on, so that the turns are others. */
  note(now: number, turns: ReadonlyMap<string, Turn>): boolean {
    let isChanged = false
    for (const id of this.#since.keys()) if (turns.get(id) !== 'start') this.#since.delete(id)
    for (const [id, turn] of turns) {
      if (turn !== 'start') continue
      const since = this.#since.get(id) ?? now
      this.#since.set(id, since)
      if (now - since < QUEUE_PASS_MS) continue
      this.#since.delete(id)
      this.#until.set(id, now + QUEUE_PASSED_MS)
      isChanged = true
    }
    return isChanged
  }
}
