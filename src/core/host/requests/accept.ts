/** What consumers ask of a live instance: answers, messages and the catalog of message types (spec, Endpoints 1 and 2; R25). */
import { fail, type ResolveError } from '../../errors.ts'
import { failpoint } from '../../failpoints.ts'
import { formRefusal } from '../../form-check/form-check.ts'
import { parseForm } from '../../forms/parse-form.ts'
import { MESSAGES_MAX_BYTES } from '../../limits.ts'
import type { Payload } from '../../protocol/form.ts'
import type { Actor, MessageType } from '../../protocol/instance.ts'
import type { CoordinationDirectory } from '../../worker/worker.ts'
import { readState } from '../ingest/state-snapshot.ts'
import type { ResolverCalls } from '../launch/resolver-calls.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { type Delivery, type Mailbox, publish } from './mailbox.ts'

export interface RequestContext {
  ledger: Ledger
  coordination: CoordinationDirectory
  mailbox: Mailbox
}

/**
 * Keeps a valid answer and moves the status on; it is on disk when this returns.
 * Throws `request_unknown`, `already_answered`, `request_cancelled`, `form_invalid`, `disk_full`.
 */
export function acceptAnswer(context: RequestContext, requestId: string, payload: Payload, actor: Actor): void {
  const { ledger, mailbox } = context
  const { instance_id: instance } = ledger.story.creation
  const request = ledger.story.requests.find((candidate) => candidate.id === requestId)
  if (request === undefined) throw fail('request_unknown', { request: requestId, instance })
  if (request.status === 'cancelled') throw fail('request_cancelled', { request: requestId })
  const before = mailbox.readAnswer(requestId)
  if (actor.key !== undefined && before?.key === actor.key) {
    settle(context, before)
    return
  }
  if (request.status === 'answered') {
    const { actor: who, via, answered_at: at } = request
    throw fail('already_answered', { request: requestId, actor: who ?? '', via: via ?? '', at: at ?? '' })
  }
  const refusal = formRefusal(request.schema, payload)
  if (refusal !== undefined) throw refusal
  const intent = { kind: 'answer', request_id: requestId, payload, ...actor, at: new Date().toISOString() } as const
  if (!mailbox.keepAnswer(intent)) {
    const first = mailbox.readAnswer(requestId) ?? intent
    throw fail('already_answered', { request: requestId, actor: first.actor, via: first.via, at: first.at })
  }
  failpoint('answer.kept')
  keepOrDrop(context, intent, () => mailbox.dropAnswer(requestId))
  settle(context, intent)
  failpoint('answer.accepted')
}

/** The catalog of message types for the present state (spec, Message type). Throws what the call throws, `form_malformed`. */
export async function askMessageTypes(context: RequestContext, calls: ResolverCalls): Promise<MessageType[]> {
  const answer = await calls.ask('resolver.getMessageTypes', { instance_state: readState(context.coordination) ?? {} })
  if (answer === null) return []
  if (!Array.isArray(answer)) throw malformed(['It is not a list.'])
  return answer.map(parseMessageType)
}

/** Throws `message_type_unknown`, `form_invalid`, `disk_full`. */
export function acceptMessage(
  context: RequestContext,
  types: readonly MessageType[],
  type: string,
  payload: Payload,
  actor: Actor,
): number {
  const known = types.find((candidate) => candidate.name === type)
  if (known === undefined) throw fail('message_type_unknown', { type, known: types.map((candidate) => candidate.name) })
  const refusal = formRefusal(known.schema, payload)
  if (refusal !== undefined) throw refusal
  const before = keptMessage(context, actor.key)
  if (before !== undefined) return before
  const bytes = context.mailbox.messageBytes() + JSON.stringify(payload).length
  if (bytes > MESSAGES_MAX_BYTES) {
    throw fail('input_too_large', { what: 'mailbox of the instance', bytes, limit: MESSAGES_MAX_BYTES })
  }
  const at = new Date().toISOString()
  const intent = context.mailbox.keepMessage({ kind: 'message', message_type: type, payload, ...actor, at })
  failpoint('message.kept')
  keepOrDrop(context, intent, () => context.mailbox.dropMessage(intent.number))
  settle(context, intent)
  failpoint('message.accepted')
  return intent.number
}

/** The number of the message that came with this key before, accepted by now if it was not. Throws `disk_full`. */
export function keptMessage(context: RequestContext, key: string | undefined): number | undefined {
  const number = key === undefined ? undefined : context.mailbox.findMessage(key)
  const kept = number === undefined ? undefined : context.mailbox.readMessage(number)
  if (kept !== undefined) settle(context, kept)
  return number
}

/** What is kept is in the journal, and on disk, before anybody is told that it was accepted. */
function settle(context: RequestContext, intent: Delivery): void {
  const { ledger } = context
  if (!isJournaled(context, intent)) publish(intent, ledger, context.coordination)
  ledger.reconcile()
  ledger.sync()
}

function isJournaled({ ledger }: RequestContext, intent: Delivery): boolean {
  const { requests, messages } = ledger.story
  return intent.kind === 'answer'
    ? !requests.some(({ id, status }) => id === intent.request_id && status === 'pending')
    : messages.some(({ number }) => number === intent.number)
}

/** What the journal could not take was not accepted; a file that could not be published yet is published at delivery. */
function keepOrDrop(context: RequestContext, intent: Delivery, drop: () => void): void {
  const before = context.ledger.story.lastSeq
  try {
    publish(intent, context.ledger, context.coordination)
  } catch (error) {
    if (context.ledger.story.lastSeq > before) return
    drop()
    throw error
  }
}

function parseMessageType(value: unknown, index: number): MessageType {
  const entry = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>
  const { name, label, description } = entry
  if (typeof name !== 'string' || name === '') throw malformed([`Entry ${index + 1} has no name.`])
  const schema = entry['schema'] ?? { type: 'form', components: [] }
  const parsed = parseForm(schema)
  if (parsed.form === null) throw malformed(parsed.errors.map((error) => `"${name}": ${error}`))
  return {
    name,
    label: typeof label === 'string' ? label : name,
    description: typeof description === 'string' ? description : '',
    schema: parsed.form,
  }
}

function malformed(errors: readonly string[]): ResolveError {
  return fail('form_malformed', { where: 'list of message types', errors })
}
