/**
 * Runs writes in order and retries them while the disk is full, so that none is lost: everything waits behind the write that
 * failed, which is tried again with growing pauses (reliability F7). All writes of the SDK use it.
 */
import { isDiskFull } from '../../core/errors.ts'
import { backoffMs } from '../../core/primitives/backoff.ts'

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 2_000

/** A write that may be called again after it threw. */
export type Step = () => void

export class RetryingDisk {
  readonly #waiting: Step[] = []
  #timer: NodeJS.Timeout | undefined
  #tries = 0

  /** Writes now where possible. Throws errors other than a full disk. */
  do(step: Step): void {
    if (this.#waiting.length === 0 && succeeds(step)) return
    this.#waiting.push(step)
    this.#schedule()
  }

  get isFull(): boolean {
    return this.#waiting.length > 0
  }

  /** Tries all waiting writes once more: for a process that is about to end. */
  tryNow(): void {
    while (this.#waiting[0] !== undefined && succeeds(this.#waiting[0])) this.#waiting.shift()
  }

  #schedule(): void {
    if (this.#timer !== undefined) return
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined
        this.tryNow()
        this.#tries = this.isFull ? this.#tries + 1 : 0
        if (this.isFull) this.#schedule()
      },
      backoffMs(this.#tries, FIRST_PAUSE_MS, LONGEST_PAUSE_MS),
    )
  }
}

function succeeds(step: Step): boolean {
  try {
    step()
    return true
  } catch (error) {
    if (isDiskFull(error)) return false
    throw error
  }
}
