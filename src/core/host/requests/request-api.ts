/** Takes what consumers send to a hosted instance: answers at any time, messages while its worker is up. {@link file://./../lifecycle/instance-host.ts} opens it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { fail } from '../../errors.ts'
import { MESSAGE_TYPES_LIMIT_MS } from '../../limits.ts'
import type { Payload } from '../../protocol/form.ts'
import type { Actor, MessageType } from '../../protocol/instance.ts'
import type { ResolverCalls } from '../launch/resolver-calls.ts'
import { acceptAnswer, acceptedMessage, acceptMessage, askMessageTypes, type RequestContext } from './accept.ts'

export class RequestApi {
  readonly #context: RequestContext
  readonly #deliver: () => void
  /** Resolves when the worker accepts calls, or with undefined when it never will. */
  readonly #reached = Promise.withResolvers<ResolverCalls | undefined>()
  #isClosed = false

  /** `deliver` is called after each acceptance. */
  constructor(context: RequestContext, deliver: () => void) {
    this.#context = context
    this.#deliver = deliver
  }

  /** From now on the worker accepts calls. */
  open(calls: ResolverCalls): void {
    this.#reached.resolve(calls)
  }

  close(): void {
    this.#isClosed = true
    this.#reached.resolve(undefined)
  }

  /** On disk when this returns. Throws like {@link acceptAnswer}. */
  answer(requestId: string, payload: Payload, actor: Actor): void {
    this.#accept(() => acceptAnswer(this.#context, requestId, payload, actor))
  }

  /** Throws `invalid_state`, and like {@link askMessageTypes}. */
  async messageTypes(): Promise<MessageType[]> {
    this.#refuseUnlessUp()
    // An instance that was just resumed or adopted gets its worker in a moment.
    const limit = sleep(MESSAGE_TYPES_LIMIT_MS, undefined, { ref: false })
    const calls = await Promise.race([this.#reached.promise, limit])
    this.#refuseUnlessUp(calls !== undefined)
    try {
      return await askMessageTypes(this.#context, calls as ResolverCalls)
    } catch (error) {
      // The worker ended during the call.
      this.#refuseUnlessUp()
      throw error
    }
  }

  /** The number of the message; on disk when this returns. Throws `invalid_state`, and like {@link acceptMessage}. */
  async message(type: string, payload: Payload, actor: Actor): Promise<number> {
    const before = acceptedMessage(this.#context, actor.key)
    if (before !== undefined) return before
    const types = await this.messageTypes()
    this.#refuseUnlessUp()
    return this.#accept(() => acceptMessage(this.#context, types, type, payload, actor))
  }

  /** Delivers what was appended, even where acknowledging it failed. */
  #accept<T>(accept: () => T): T {
    try {
      return accept()
    } finally {
      this.#deliver()
    }
  }

  #refuseUnlessUp(canBeAsked = !this.#isClosed): void {
    const { status } = this.#context.ledger
    const isUp = status === 'running' || status === 'awaiting_input'
    if (!isUp || !canBeAsked) throw fail('invalid_state', { action: 'send a message to', status })
  }
}
