/**
 * Keeps what is dear to open: all who want it at once share it, and it stays a while for the next. Each one is known by itself and not
 * by its key: a clock that was set for one must never end its successor under somebody's hands. Inquiries keep containers in it.
 */

export interface Keepable {
  /** Whether it is of no use any more. */
  readonly isOver: boolean
  close(): Promise<void>
}

interface Kept<T> {
  thing: Promise<T>
  users: number
  /** Whether somebody else used it at the same time, or before. */
  isShared: boolean
  timer: NodeJS.Timeout | undefined
}

export interface Use<T> {
  thing: T
  /** Whether what ended it may have been another's doing. */
  isShared(): boolean
}

export class RefCountedPool<T extends Keepable> {
  readonly #kept = new Map<string, Kept<T>>()

  /** Has `work` use what is kept under `key`, or what `open` opens; the last to leave it keeps it for `waitMs`. Throws what both may. */
  async use<R>(key: string, waitMs: number, open: () => Promise<T>, work: (use: Use<T>) => Promise<R>): Promise<R> {
    const known = this.#kept.get(key)
    const kept = known ?? { thing: open(), users: 0, isShared: false, timer: undefined }
    if (known !== undefined) kept.isShared = true
    this.#kept.set(key, kept)
    kept.users += 1
    clearTimeout(kept.timer)
    try {
      return await work({ thing: await kept.thing, isShared: () => kept.isShared })
    } finally {
      const isOver = await kept.thing.then(
        (thing) => thing.isOver,
        () => true,
      )
      kept.users -= 1
      // The next gets another; those who still use this one may go on.
      if (isOver) this.#forget(key, kept)
      if (kept.users === 0) {
        if (isOver) await close(kept)
        else kept.timer = setTimeout(() => this.#end(key, kept), waitMs).unref()
      }
    }
  }

  async close(): Promise<void> {
    const all = [...this.#kept.values()]
    this.#kept.clear()
    await Promise.all(all.map(close))
  }

  #end(key: string, kept: Kept<T>): void {
    this.#forget(key, kept)
    void close(kept)
  }

  #forget(key: string, kept: Kept<T>): void {
    if (this.#kept.get(key) === kept) this.#kept.delete(key)
  }
}

async function close<T extends Keepable>(kept: Kept<T>): Promise<void> {
  clearTimeout(kept.timer)
  await kept.thing.then(
    (thing) => thing.close(),
    () => undefined,
  )
}
