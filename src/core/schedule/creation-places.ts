/** Bounds how many scheduled instances are created at the same time; {@link file://./runner.ts} creates them. */
import { SCHEDULE_CREATIONS_MAX, SCHEDULE_CREATIONS_OF_RESOLVER_MAX } from '../limits.ts'

/** A resolver that hangs at its form holds a few places and not all of them. */
export class CreationPlaces {
  readonly #ofResolver = new Map<string, number>()
  #waiting: { resolver: string; go: () => void }[] = []
  #taken = 0

  /** Runs the work when a place is free: the oldest first, apart from those whose resolver has its share. */
  async run(resolver: string, work: () => Promise<void>): Promise<void> {
    await new Promise<void>((go) => {
      this.#waiting.push({ resolver, go })
      this.#fill()
    })
    try {
      await work()
    } finally {
      this.#count(resolver, -1)
      this.#fill()
    }
  }

  #fill(): void {
    this.#waiting = this.#waiting.filter(({ resolver, go }) => {
      const own = this.#ofResolver.get(resolver) ?? 0
      if (this.#taken >= SCHEDULE_CREATIONS_MAX || own >= SCHEDULE_CREATIONS_OF_RESOLVER_MAX) return true
      this.#count(resolver, 1)
      go()
      return false
    })
  }

  #count(resolver: string, change: number): void {
    this.#taken += change
    this.#ofResolver.set(resolver, (this.#ofResolver.get(resolver) ?? 0) + change)
  }
}
