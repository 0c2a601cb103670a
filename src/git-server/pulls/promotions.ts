/** Requests of workers to promote a branch to its forge. The host answers them; until then the worker's request is held open. */
import { randomUUID } from 'node:crypto'
import { PROMOTION_WAIT_MS } from '../../core/limits.ts'
import { Refusal } from '../repository/refusal.ts'
import type { Feed, PromotionNotice } from './feed.ts'

export interface PromotionAnswer {
  status: number
  body: Readonly<Record<string, unknown>>
}

interface Waiting {
  notice: PromotionNotice
  answer: PromiseWithResolvers<PromotionAnswer>
}

const WAITING_MAX = 100

export class Promotions {
  readonly #feed: Feed
  readonly #waiting = new Map<string, Waiting>()

  constructor(feed: Feed) {
    this.#feed = feed
  }

  /** A request for a branch that already waits joins the first one. Undefined: the host did not answer in time; it may later. */
  async ask(repo: string, request: Readonly<Record<string, unknown>>): Promise<PromotionAnswer | undefined> {
    const key = JSON.stringify([repo, request['branch'] ?? null, request['target_branch'] ?? null])
    const waiting = this.#waiting.get(key) ?? this.#begin(key, repo, request)
    const late = Promise.withResolvers<undefined>()
    const timer = setTimeout(() => late.resolve(undefined), PROMOTION_WAIT_MS)
    try {
      return await Promise.race([waiting.answer.promise, late.promise])
    } finally {
      clearTimeout(timer)
    }
  }

  #begin(key: string, repo: string, request: Readonly<Record<string, unknown>>): Waiting {
    if (this.#waiting.size >= WAITING_MAX) throw new Refusal(429, `${WAITING_MAX} promotions wait already`)
    const notice: PromotionNotice = { kind: 'promotion', id: randomUUID(), repo, request }
    const waiting = { notice, answer: Promise.withResolvers<PromotionAnswer>() }
    this.#waiting.set(key, waiting)
    this.#feed.tell(notice)
    return waiting
  }

  /** For a host that begins to follow. */
  waiting(): PromotionNotice[] {
    return [...this.#waiting.values()].map(({ notice }) => notice)
  }

  /** Returns whether a request with this id waited. */
  answer(id: string, answer: PromotionAnswer): boolean {
    for (const [key, waiting] of this.#waiting) {
      if (waiting.notice.id !== id) continue
      this.#waiting.delete(key)
      waiting.answer.resolve(answer)
      return true
    }
    return false
  }
}
