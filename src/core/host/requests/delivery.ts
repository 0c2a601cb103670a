/** Calls kept answers and messages into the resolver, one after the other, at least once each (R42; reliability F6). */
import { ResolveError } from '../../errors.ts'
import { failpoint } from '../../failpoints.ts'
import { pendingRequests } from '../../view/story.ts'
import type { ResolverCalls } from '../launch/resolver-calls.ts'
import type { RequestContext } from './accept.ts'
import { type Delivery as Intent, publish } from './mailbox.ts'

export class Delivery {
  readonly #context: RequestContext
  readonly #calls: ResolverCalls
  /** Waits for room where the disk is full. */
  readonly #write: (line: () => void) => Promise<void>
  /** Tried by this host without an answer: the next host, or the next run, tries again. */
  readonly #tried = new Set<string>()
  #isBusy = false
  #isAsked = false

  constructor(context: RequestContext, calls: ResolverCalls, write: (line: () => void) => Promise<void>) {
    this.#context = context
    this.#calls = calls
    this.#write = write
  }

  /** An answer that was kept is an answer, whatever became of its journal line. */
  publishKept(): void {
    const { ledger, mailbox, coordination } = this.#context
    for (const { id } of pendingRequests(ledger.story)) {
      const intent = mailbox.readAnswer(id)
      if (intent !== undefined) publish(intent, ledger, coordination)
    }
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
        for (const intent of this.#context.mailbox.undelivered()) {
          const name = intent.kind === 'answer' ? intent.request_id : String(intent.number)
          const key = `${intent.kind} ${name}`
          if (this.#tried.has(key)) continue
          this.#tried.add(key)
          if (!(await this.#deliver(intent))) continue
          this.#mark(intent)
        }
      }
    } finally {
      // In the same turn as the last look: what is asked for in between would be forgotten.
      this.#isBusy = false
    }
  }

  /** What could not be marked is delivered once more by the next host. */
  #mark(intent: Intent): void {
    try {
      failpoint(`${intent.kind}.called`)
      this.#context.mailbox.markDelivered(intent)
      failpoint(`${intent.kind}.marked`)
    } catch {
      // As said above.
    }
  }

  async #deliver(intent: Intent): Promise<boolean> {
    try {
      // It was acknowledged: a full disk may keep it waiting, and must not lose it to this run.
      await this.#write(() => publish(intent, this.#context.ledger, this.#context.coordination))
      await this.#call(intent)
      return true
    } catch (error) {
      // An error the resolver itself answered with is an answer; silence, a closed channel and a broken disk are not.
      return error instanceof ResolveError && error.code === 'resolver_refused'
    }
  }

  async #call(intent: Intent): Promise<unknown> {
    const { payload } = intent
    if (intent.kind === 'answer') {
      return await this.#calls.call('resolver.inputResponse', { request_id: intent.request_id, payload })
    }
    const { message_type, number } = intent
    return await this.#calls.call('resolver.message', { message_type, payload, number })
  }
}
