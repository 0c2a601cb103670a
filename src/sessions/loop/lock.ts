/** Lets one holder in at a time, or a few; the others wait in their order. Sessions use it for calls that write, and for runs at once. */

export class Lock {
  readonly #places: number
  #held = 0
  readonly #waiting: (() => void)[] = []

  constructor(places = 1) {
    this.#places = places
  }

  /** Resolves with what leaves. Throws the signal's reason. */
  async enter(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    if (this.#held < this.#places) this.#held += 1
    else await this.#turn(signal)
    let isIn = true
    return () => {
      if (!isIn) return
      isIn = false
      const next = this.#waiting.shift()
      if (next === undefined) this.#held -= 1
      else next()
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const go = () => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      const leave = () => {
        const at = this.#waiting.indexOf(go)
        if (at !== -1) this.#waiting.splice(at, 1)
        reject(signal.reason as Error)
      }
      this.#waiting.push(go)
      signal.addEventListener('abort', leave, { once: true })
    })
  }
}
