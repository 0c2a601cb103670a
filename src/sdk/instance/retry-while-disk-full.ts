/**
 * Carries out writes in order and waits for space instead of losing one: while the disk is full everything queues behind
 * the write that failed, and is tried again with growing pauses (reliability F7). Used for all that the SDK writes.
 */
import { systemCode } from '../../core/errors.ts'

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 2_000

/** A write that may be called again after it threw. */
export type Step = () => void

export class RetryingDisk {
  readonly #waiting: Step[] = []
  #timer: NodeJS.Timeout | undefined
  #pauseMs = FIRST_PAUSE_MS

  /** Writes now where that is possible. Throws what is not about space. */
  do(step: Step): void {
    if (this.#waiting.length === 0 && succeeds(step)) return
    this.#waiting.push(step)
    this.#schedule()
  }

  get isFull(): boolean {
    return this.#waiting.length > 0
  }

  /** One more try at everything that waits: for a process that is about to end. */
  tryNow(): void {
    while (this.#waiting[0] !== undefined && succeeds(this.#waiting[0])) this.#waiting.shift()
  }

  #schedule(): void {
    if (this.#timer !== undefined) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.tryNow()
      this.#pauseMs = this.isFull ? Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS) : FIRST_PAUSE_MS
      if (this.isFull) this.#schedule()
    }, this.#pauseMs)
  }
}

function succeeds(step: Step): boolean {
  try {
    step()
    return true
  } catch (error) {
    const code = systemCode(error)
    if (code === 'ENOSPC' || code === 'EDQUOT') return false
    throw error
  }
}
