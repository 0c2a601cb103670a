/**
 * Shares things that are slow to open: callers that want the same thing share it, and it stays open for a while after its
 * last use. {@link file://./inquiries.ts} keeps the processes and containers that answer questions about a resolver in it.
 */

export interface Keepable {
  /** Whether it can no longer be used. */
  readonly isOver: boolean
  close(): Promise<void>
}

export interface PoolTerms {
  /** A thing that was opened for another version is not reused. */
  version: string
  /** How long it stays open after its last use, in milliseconds. */
  idleMs: number
  /** How long after its opening it accepts new users, in milliseconds; default: without limit. */
  ageMs?: number
}

/** Whether others used the thing too, so that one of them may have ended it. */
export type OtherUsers = 'none' | 'before' | 'meanwhile'

export interface Use<T> {
  thing: T
  others(): OtherUsers
}

interface Kept<T> {
  thing: Promise<T>
  version: string
  /** When it stops accepting new users, by the process's monotonic clock. */
  until: number
  users: number
  others: OtherUsers
  timer: NodeJS.Timeout | undefined
}

export class RefCountedPool<T extends Keepable> {
  readonly #kept = new Map<string, Kept<T>>()
  readonly #closing = new Set<Promise<void>>()
  #isClosed = false

  /** Runs `work` with the thing under `key`, opening it if needed. Throws the errors of both functions. */
  async use<R>(key: string, terms: PoolTerms, open: () => Promise<T>, work: (use: Use<T>) => Promise<R>): Promise<R> {
    const kept = this.#take(key, terms) ?? this.#add(key, terms, open)
    try {
      return await work({ thing: await kept.thing, others: () => kept.others })
    } finally {
      await this.#leave(key, kept, terms.idleMs)
    }
  }

  /** Closes everything, including things in use. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const [key, kept] of this.#kept) this.#retire(key, kept)
    await Promise.all(this.#closing)
  }

  #take(key: string, { version }: PoolTerms): Kept<T> | undefined {
    const kept = this.#kept.get(key)
    if (kept === undefined) return undefined
    if (kept.version !== version || performance.now() >= kept.until) {
      this.#forget(key, kept)
      if (kept.users === 0) void this.#end(kept)
      return undefined
    }
    clearTimeout(kept.timer)
    kept.others = kept.users > 0 || kept.others === 'meanwhile' ? 'meanwhile' : 'before'
    kept.users += 1
    return kept
  }

  #add(key: string, { version, ageMs = Number.POSITIVE_INFINITY }: PoolTerms, open: () => Promise<T>): Kept<T> {
    const until = performance.now() + ageMs
    const kept: Kept<T> = { thing: open(), version, until, users: 1, others: 'none', timer: undefined }
    this.#kept.set(key, kept)
    return kept
  }

  /** Resolves after closing, where this was the last use: a limited caller frees its place only then. */
  async #leave(key: string, kept: Kept<T>, idleMs: number): Promise<void> {
    const isOver = await kept.thing.then(
      (thing) => thing.isOver,
      () => true,
    )
    kept.users -= 1
    const leftMs = Math.min(idleMs, kept.until - performance.now())
    const isKept = !isOver && leftMs > 0 && !this.#isClosed && this.#kept.get(key) === kept
    if (!isKept) this.#forget(key, kept)
    if (kept.users > 0) return
    if (isKept) kept.timer = setTimeout(() => this.#retire(key, kept), leftMs).unref()
    else await this.#end(kept)
  }

  #retire(key: string, kept: Kept<T>): void {
    this.#forget(key, kept)
    void this.#end(kept)
  }

  /** Compares the thing, not only the key: the timer of one thing must not remove its successor. */
  #forget(key: string, kept: Kept<T>): void {
    if (this.#kept.get(key) === kept) this.#kept.delete(key)
  }

  #end(kept: Kept<T>): Promise<void> {
    clearTimeout(kept.timer)
    const closed = kept.thing
      .then(
        (thing) => thing.close(),
        () => undefined,
      )
      .finally(() => this.#closing.delete(closed))
    this.#closing.add(closed)
    return closed
  }
}
