/** Delivers accepted answers and messages to the resolver, one after the other, each at least once (R42). */
import { ResolveError, systemCode } from '../../errors.ts'
import { failpoint } from '../../failpoints.ts'
import type { AnswerIntent, Delivered, MessageIntent } from '../../protocol/journal.ts'
import { pendingRequests } from '../../view/story.ts'
import type { ResolverCalls } from '../launch/resolver-calls.ts'
import type { Kept } from '../ledger/ledger.ts'
import type { RequestContext } from './accept.ts'
import { eventOf, isRecorded, type Sent } from './publish.ts'

const RETRY_MS = 500

export class Delivery {
  readonly #context: RequestContext
  readonly #calls: ResolverCalls
  /** Writes to the journal; while the disk is full, it waits for free space. */
  readonly #write: (line: () => void) => Promise<void>
  /** What this host has tried to deliver. Without an acknowledgement, the next host or the next run delivers it again. */
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

  /** Records the missing events of accepted answers; see `isRecorded`. */
  tellAccepted(): void {
    const { ledger } = this.#context
    for (const { id } of pendingRequests(ledger.story)) {
      const answer = ledger.inbox.answer(id)
      if (answer !== undefined) this.#recordEvent(answer)
    }
  }

  /** Writes the files of everything that was accepted: after a power failure any of them may be missing. */
  restoreFiles(): void {
    for (const kept of this.#context.ledger.inbox.all()) {
      if (isRecorded(this.#context.ledger, kept)) this.#context.files.write(this.#whole(kept))
    }
  }

  /** Writes the files that were scrubbed when the instance paused: a resumed resolver may read them again. */
  static restoreScrubbed({ ledger, files, sealed }: RequestContext): void {
    for (const kept of ledger.inbox.all()) {
      if (kept.sealed === undefined || !isRecorded(ledger, kept)) continue
      files.write({ ...kept, payload: sealed.whole(ledger.payloadOf(kept), kept.sealed) })
    }
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#retryTimer)
  }

  /** Starts the delivery of everything that is accepted; what is accepted meanwhile follows. */
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
      // In the same turn as the last check of #isAsked, so that no call of deliverAll is lost in between.
      this.#isBusy = false
    }
  }

  /** If marking fails, the next host delivers it again. */
  #mark(kept: Kept): void {
    try {
      failpoint(`${kept.kind}.called`)
      this.#context.ledger.keep(deliveredOf(kept))
      failpoint(`${kept.kind}.marked`)
    } catch {
      // The next host delivers it again.
    }
  }

  async #deliver(kept: Kept): Promise<boolean> {
    try {
      // It was acknowledged to its sender: on a full disk it waits, but this run must get it.
      await this.#write(() => this.#publish(kept))
      await this.#call(this.#whole(kept))
      return true
    } catch (error) {
      if (!(error instanceof ResolveError) && systemCode(error) !== undefined) this.#retryLater(kept)
      // An error from the resolver acknowledges the delivery. Silence, a closed channel or a disk error does not.
      return error instanceof ResolveError && error.code === 'resolver_refused'
    }
  }

  /**
   * It was acknowledged, but its file cannot be written now. Retries in this host, because the resolver must not wait for the
   * next one.
   */
  #retryLater(kept: Kept): void {
    this.#tried.delete(kept)
    if (this.#isClosed) return
    this.#retryTimer ??= setTimeout(() => {
      this.#retryTimer = undefined
      this.deliverAll()
    }, RETRY_MS).unref()
  }

  #publish(kept: Kept): void {
    this.#recordEvent(kept)
    this.#context.files.write(this.#whole(kept))
  }

  #recordEvent(kept: Kept): void {
    const { ledger } = this.#context
    if (isRecorded(ledger, kept)) return
    const { type, data } = eventOf(kept)
    ledger.record(type, data)
  }

  #whole(kept: Kept): Sent {
    const { ledger, sealed } = this.#context
    const { place: _, ...rest } = kept
    return { ...rest, payload: sealed.whole(ledger.payloadOf(kept), kept.sealed) } as AnswerIntent | MessageIntent
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
