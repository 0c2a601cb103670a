/** Calls accepted answers and messages into the resolver, one after the other, at least once each (R42). */
import { ResolveError, systemCode } from '../../errors.ts'
import { failpoint } from '../../failpoints.ts'
import type { AnswerIntent, Delivered, MessageIntent } from '../../protocol/journal.ts'
import { pendingRequests } from '../../view/story.ts'
import type { ResolverCalls } from '../launch/resolver-calls.ts'
import type { Kept } from '../ledger/ledger.ts'
import type { RequestContext } from './accept.ts'
import { isTold, newsOf, type Sent } from './publish.ts'

const RETRY_MS = 500

export class Delivery {
  readonly #context: RequestContext
  readonly #calls: ResolverCalls
  /** Waits for room where the disk is full. */
  readonly #write: (line: () => void) => Promise<void>
  /** Called by this host without an answer: the next host, or the next run, calls again. */
  readonly #tried = new Set<Kept>()
  #isBusy = false
  #isAsked = false
  #isClosed = false
  #retryTimer: NodeJS.Timeout | undefined

  constructor(context: RequestContext, calls: ResolverCalls, write: (line: () => void) => Promise<void>) {
    this.#context = context
    this.#calls = calls
    this.#write = write
  }

  /** Tells of answers that were accepted and are told of nowhere; see `isTold`. */
  tellAccepted(): void {
    const { ledger } = this.#context
    for (const { id } of pendingRequests(ledger.story)) {
      const answer = ledger.inbox.answer(id)
      if (answer !== undefined) this.#tell(answer)
    }
  }

  /** Writes the files of everything that was accepted: after the machine went down, none of them is sure to be on disk. */
  restoreFiles(): void {
    for (const kept of this.#context.ledger.inbox.all()) {
      if (isTold(this.#context.ledger, kept)) this.#context.files.write(this.#whole(kept))
    }
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#retryTimer)
  }

  /** Starts delivering what is there; what comes meanwhile follows. */
  deliverAll(): void {
    this.#isAsked = true
    if (this.#isBusy) return
    this.#isBusy = true
    void this.#work()
  }

  async #work(): Promise<void> {
    try {
      while (this.#isAsked) {
        this.#isAsked = false
        for (const kept of this.#context.ledger.inbox.undelivered()) {
          if (this.#tried.has(kept) || this.#isClosed) continue
          this.#tried.add(kept)
          if (await this.#deliver(kept)) this.#mark(kept)
        }
      }
    } finally {
      // In the same turn as the last look: a call of deliverAll in between would be forgotten.
      this.#isBusy = false
    }
  }

  /** What could not be marked is delivered once more by the next host. */
  #mark(kept: Kept): void {
    try {
      failpoint(`${kept.kind}.called`)
      this.#context.ledger.keep(deliveredOf(kept))
      failpoint(`${kept.kind}.marked`)
    } catch {
      // As said above.
    }
  }

  async #deliver(kept: Kept): Promise<boolean> {
    try {
      // It was acknowledged: a full disk may keep it waiting, and must not lose it to this run.
      await this.#write(() => this.#publish(kept))
      await this.#call(this.#whole(kept))
      return true
    } catch (error) {
      if (!(error instanceof ResolveError) && systemCode(error) !== undefined) this.#retryLater(kept)
      // An error the resolver itself answered with is an answer; silence, a closed channel and a broken disk are not.
      return error instanceof ResolveError && error.code === 'resolver_refused'
    }
  }

  /** It was acknowledged, and its file cannot be written now: the resolver must not wait for the next host. */
  #retryLater(kept: Kept): void {
    this.#tried.delete(kept)
    if (this.#isClosed) return
    this.#retryTimer ??= setTimeout(() => {
      this.#retryTimer = undefined
      this.deliverAll()
    }, RETRY_MS).unref()
  }

  #publish(kept: Kept): void {
    this.#tell(kept)
    this.#context.files.write(this.#whole(kept))
  }

  #tell(kept: Kept): void {
    const { ledger } = this.#context
    if (isTold(ledger, kept)) return
    const { type, data } = newsOf(kept)
    ledger.record(type, data)
  }

  #whole(kept: Kept): Sent {
    const { place: _, ...rest } = kept
    return { ...rest, payload: this.#context.ledger.payloadOf(kept) } as AnswerIntent | MessageIntent
  }

  async #call(sent: Sent): Promise<unknown> {
    const { payload } = sent
    if (sent.kind === 'answer') {
      return await this.#calls.call('resolver.inputResponse', { request_id: sent.request_id, payload })
    }
    const { message_type, number } = sent
    return await this.#calls.call('resolver.message', { message_type, payload, number })
  }
}

function deliveredOf(kept: Kept): Delivered {
  return kept.kind === 'answer'
    ? { kind: 'delivered', request_id: kept.request_id }
    : { kind: 'delivered', number: kept.number }
}
