/** Tells the hosts that follow the server: the lines of `pulls.jsonl` from an offset, each push, and each asked promotion. */
import { createReadStream } from 'node:fs'
import type { PullStore } from './pull-store.ts'

export interface PushNotice {
  kind: 'push'
  repo: string
  ref: string
  /** null: there was none, or there is none now. */
  from: string | null
  to: string | null
  forced: boolean
}

export interface PromotionNotice {
  kind: 'promotion'
  id: string
  repo: string
  request: Readonly<Record<string, unknown>>
}

/** `next`: the offset from which the lines after this one follow. */
export interface LineNotice {
  kind: 'line'
  next: number
  line: unknown
}

export type Notice = PushNotice | PromotionNotice | LineNotice

export class Feed {
  readonly #store: PullStore
  readonly #followers = new Set<(notice: PushNotice | PromotionNotice | undefined) => void>()

  constructor(store: PullStore) {
    this.#store = store
    store.onLine = () => this.tell(undefined)
  }

  /** Undefined: `pulls.jsonl` has grown. Notices of pushes are not kept: a host that follows again fetches all refs. */
  tell(notice: PushNotice | PromotionNotice | undefined): void {
    for (const follower of this.#followers) follower(notice)
  }

  /** Calls `onNotice` for everything from the offset on, until the function that it returns is called. */
  follow(from: number, onNotice: (notice: Notice) => void): () => void {
    let offset = from
    let isOver = false
    let reading: Promise<void> | undefined
    const read = async (): Promise<void> => {
      while (!isOver && offset < this.#store.bytes) {
        const end = this.#store.bytes
        for await (const { next, text } of linesBetween(this.#store.path, offset, end)) {
          if (isOver) return
          offset = next
          const line = toValue(text)
          if (line !== undefined) onNotice({ kind: 'line', next, line })
        }
        offset = end
      }
    }
    const ring = (): void => {
      reading ??= read().finally(() => {
        reading = undefined
        if (!isOver && offset < this.#store.bytes) ring()
      })
      reading.catch(() => {})
    }
    const follower = (notice: PushNotice | PromotionNotice | undefined): void => {
      if (notice === undefined) ring()
      else onNotice(notice)
    }
    this.#followers.add(follower)
    ring()
    return () => {
      isOver = true
      this.#followers.delete(follower)
    }
  }
}

async function* linesBetween(path: string, from: number, end: number): AsyncGenerator<{ next: number; text: string }> {
  let rest = Buffer.alloc(0)
  let next = from
  for await (const part of createReadStream(path, { start: from, end: end - 1 })) {
    rest = Buffer.concat([rest, part as Buffer])
    for (let at = rest.indexOf('\n'); at !== -1; at = rest.indexOf('\n')) {
      next += at + 1
      yield { next, text: rest.toString('utf8', 0, at) }
      rest = rest.subarray(at + 1)
    }
  }
}

function toValue(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
