/** Collects items and delivers them once per animation frame, so that a flood of events causes only a few renders per second. */

/** The minimum time between two deliveries during a flood, which leaves time for user input. A single item is delivered with the next frame. */
const APART_MS = 100
/** A hidden page has no animation frames; it uses this timer. */
const WITHOUT_FRAMES_MS = 250

export class FrameBatch<T> {
  readonly #give: (items: readonly T[]) => void
  #items: T[] = []
  #frame: number | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #isWaiting = false
  #givenAt = Number.NEGATIVE_INFINITY
  #whenEmpty: (() => void)[] = []

  constructor(give: (items: readonly T[]) => void) {
    this.#give = give
  }

  add(item: T): void {
    this.#items.push(item)
    if (this.#isWaiting) return
    this.#isWaiting = true
    const left = this.#givenAt + APART_MS - performance.now()
    if (left > 0) this.#timer = setTimeout(() => this.#nextFrame(), left)
    else this.#nextFrame()
  }

  /** Calls back when all current items have been delivered. */
  whenEmpty(then: () => void): void {
    if (this.#isWaiting) this.#whenEmpty.push(then)
    else then()
  }

  /** Discards undelivered items. */
  close(): void {
    this.#items = []
    this.#whenEmpty = []
    this.#rest()
  }

  #nextFrame(): void {
    this.#frame = requestAnimationFrame(() => this.#flush())
    this.#timer = setTimeout(() => this.#flush(), WITHOUT_FRAMES_MS)
  }

  #flush(): void {
    this.#rest()
    this.#givenAt = performance.now()
    const items = this.#items
    this.#items = []
    if (items.length > 0) this.#give(items)
    for (const then of this.#whenEmpty.splice(0)) then()
  }

  #rest(): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame)
    clearTimeout(this.#timer)
    this.#frame = undefined
    this.#timer = undefined
    this.#isWaiting = false
  }
}
