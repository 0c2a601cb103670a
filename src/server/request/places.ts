/** Bounds how many requests of one kind are under way, for one token and for all: routes whose answers take long use it. */
import { fail } from '../../core/errors.ts'

export interface PlaceLimits {
  /** For requests with the same token, so that one caller cannot take all places. */
  ofToken: number
  /** Default: any number. */
  all?: number
}

export class Places {
  readonly #what: string
  readonly #limits: PlaceLimits
  readonly #ofToken = new Map<string, number>()
  #all = 0

  /** `what` names the requests in the refusal. */
  constructor(what: string, limits: PlaceLimits) {
    this.#what = what
    this.#limits = limits
  }

  /**
   * Returns what gives the place back; calling it twice does no harm. The owner of the home has no token and counts for all alone. Throws
   * `too_many`.
   */
  enter(tokenId: string | null): () => void {
    const { ofToken, all } = this.#limits
    if (all !== undefined && this.#all >= all) throw fail('too_many', { what: this.#what, limit: all })
    const before = tokenId === null ? 0 : (this.#ofToken.get(tokenId) ?? 0)
    if (before >= ofToken) throw fail('too_many', { what: `${this.#what} of one token`, limit: ofToken })
    this.#all += 1
    if (tokenId !== null) this.#ofToken.set(tokenId, before + 1)
    let isLeft = false
    return () => {
      if (isLeft) return
      isLeft = true
      this.#all -= 1
      if (tokenId === null) return
      const left = (this.#ofToken.get(tokenId) ?? 1) - 1
      if (left === 0) this.#ofToken.delete(tokenId)
      else this.#ofToken.set(tokenId, left)
    }
  }
}
