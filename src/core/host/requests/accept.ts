/**
 * Accepts answers and messages for a live instance, and asks its resolver for the message types (spec, Endpoints 1 and 2;
 * R25).
 */
import { fail, type ResolveError } from '../../errors.ts'
import { formRefusal } from '../../form-check/form-check.ts'
import { parseForm } from '../../forms/parse-form.ts'
import { splitSecrets } from '../../forms/secret-fields.ts'
import { MESSAGES_MAX_BYTES } from '../../limits.ts'
import type { Form, Payload } from '../../protocol/form.ts'
import type { Actor, MessageType } from '../../protocol/instance.ts'
import type { AnswerIntent, MessageIntent } from '../../protocol/journal.ts'
import { pendingRequests } from '../../view/story.ts'
import type { CoordinationDirectory } from '../../worker/worker.ts'
import { readState } from '../ingest/state-snapshot.ts'
import type { ResolverCalls } from '../launch/resolver-calls.ts'
import type { SealedPayloads } from '../launch/sealed-payloads.ts'
import type { Ledger, News } from '../ledger/ledger.ts'
import { eventOf, isRecorded, type Sent, type SentFiles } from './publish.ts'

export interface RequestContext {
  ledger: Ledger
  coordination: CoordinationDirectory
  files: SentFiles
  sealed: SealedPayloads
}

/** What accepting an answer needs. */
export interface AnswerContext {
  ledger: Ledger
  files: Pick<SentFiles, 'write'>
  sealed: SealedPayloads
}

/**
 * Accepts a valid answer and moves the status on; it is on disk when this returns.
 * Throws `request_unknown`, `already_answered`, `request_cancelled`, `form_invalid`, `disk_full`.
 */
export function acceptAnswer(context: AnswerContext, requestId: string, payload: Payload, actor: Actor): void {
  const { ledger } = context
  const { instance_id: instance } = ledger.story.creation
  const request = ledger.story.requests.find((candidate) => candidate.id === requestId)
  if (request === undefined) throw fail('request_unknown', { request: requestId, instance })
  if (request.status === 'cancelled') throw fail('request_cancelled', { request: requestId })
  const before = ledger.inbox.answer(requestId)
  if (actor.key !== undefined && before?.key === actor.key) {
    acceptAgain(context, before)
    return
  }
  if (request.status === 'answered') {
    const { actor: who, via, answered_at: at } = request
    throw fail('already_answered', { request: requestId, actor: who ?? '', via: via ?? '', at: at ?? '' })
  }
  const refusal = formRefusal(request.schema, payload)
  if (refusal !== undefined) throw refusal
  if (before !== undefined) {
    throw fail('already_answered', { request: requestId, actor: before.actor, via: before.via, at: before.at })
  }
  const answer: AnswerIntent = {
    kind: 'answer',
    request_id: requestId,
    ...sealedParts(context, request.schema, payload),
    ...actor,
    at: new Date().toISOString(),
  }
  ledger.accept(answer, [eventOf(answer), ...moveAfter(ledger, requestId)])
  publish(context, { ...answer, payload })
}

/** The payload as it is stored: the values of secret fields are sealed. Throws `secret_key_unusable`, `disk_full`. */
function sealedParts(
  { sealed }: Pick<RequestContext, 'sealed'>,
  schema: Form,
  payload: Payload,
): Pick<AnswerIntent, 'payload' | 'sealed'> {
  const { open, secret } = splitSecrets(schema, payload)
  return secret === null ? { payload } : { payload: open, sealed: sealed.take(secret) }
}

/** R25: when the last open request is answered, the instance is running again. */
function moveAfter({ story, status }: Ledger, requestId: string): News[] {
  const isLast = pendingRequests(story).every(({ id }) => id === requestId)
  if (!isLast || status !== 'awaiting_input') return []
  return [{ type: 'platform.instance.status_changed', data: { from: status, to: 'running' } }]
}

/**
 * The message types that the resolver accepts in its present state (spec, Message type). Throws the error of the call,
 * `form_malformed`.
 */
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
  const before = acceptedMessage(context, actor.key)
  if (before !== undefined) return before
  const { ledger } = context
  const { inbox } = ledger
  const bytes = inbox.messageBytes + JSON.stringify(payload).length
  if (bytes > MESSAGES_MAX_BYTES) {
    throw fail('input_too_large', { what: 'inbox of the instance', bytes, limit: MESSAGES_MAX_BYTES })
  }
  const at = new Date().toISOString()
  const number = inbox.nextNumber
  const message: MessageIntent = {
    kind: 'message',
    number,
    message_type: type,
    ...sealedParts(context, known.schema, payload),
    ...actor,
    at,
  }
  ledger.accept(message, [eventOf(message)])
  publish(context, { ...message, payload })
  return number
}

/** The number of the message that was accepted with this key. Throws `disk_full`. */
export function acceptedMessage(context: RequestContext, key: string | undefined): number | undefined {
  const { inbox } = context.ledger
  const number = inbox.numberOf(key)
  const message = number === undefined ? undefined : inbox.message(number)
  if (message !== undefined) acceptAgain(context, message)
  return number
}

/** For a repeated call: makes sure that the first acceptance is on disk before it is acknowledged again. */
function acceptAgain({ ledger }: AnswerContext, sent: Parameters<typeof eventOf>[0]): void {
  const news = isRecorded(ledger, sent) ? undefined : eventOf(sent)
  if (news !== undefined) ledger.record(news.type, news.data)
  ledger.reconcile()
  ledger.sync()
}

/** A file that cannot be written now is written at the delivery. */
function publish({ files }: AnswerContext, sent: Sent): void {
  try {
    files.write(sent)
  } catch {
    // The delivery tries again.
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
