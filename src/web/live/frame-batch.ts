/** Collects what comes and hands it on once a frame, so that a flood of events costs one drawing each time, not one an event. */

/** A page that is hidden has no frames. */
const WITHOUT_FRAMES_MS = 250

export class FrameBatch<T> {
  readonly #give: (items: readonly T[]) => void
  #items: T[] = []
  #frame: number | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #waiting: (() => void)[] = []

  constructor(give: (items: readonly T[]) => void) {
    this.#give = give
  }

  add(item: T): void {
    this.#items.push(item)
    if (this.#timer !== undefined) return
    this.#frame = requestAnimationFrame(() => this.#flush())
    this.#timer = setTimeout(() => this.#flush(), WITHOUT_FRAMES_MS)
  }

  /** Calls back after what there is now was handed on. */
  whenEmpty(then: () => void): void {
    if (this.#timer === undefined) then()
    else this.#waiting.push(then)
  }

  /** Drops what was not handed on. */
  close(): void {
    this.#items = []
    this.#waiting = []
    this.#unschedule()
  }

  #flush(): void {
    this.#unschedule()
    const items = this.#items
    this.#items = []
    if (items.length > 0) this.#give(items)
    for (const then of this.#waiting.splice(0)) then()
  }

  #unschedule(): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame)
    clearTimeout(this.#timer)
    this.#frame = undefined
    this.#timer = undefined
  }
}
