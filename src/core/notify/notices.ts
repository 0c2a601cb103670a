/** Turns events of a journal into notices, and notices into what each kind of target gets. Pure. An answer is never in one. */
import { createHmac } from 'node:crypto'
import { quoteWord } from '../primitives/quote-word.ts'
import type { Notice, NotifyEvent } from '../protocol/api/notify.ts'
import type { EventEnvelope } from '../protocol/event.ts'
import type { CreationRecord } from '../protocol/journal.ts'
import { cleanLine } from '../view/clean.ts'

const PROMPT_MAX_CHARS = 2_000

/** The notice that an event gives rise to; undefined for most events. */
export function noticeOf(creation: CreationRecord, seq: number, event: EventEnvelope): Notice | undefined {
  const { event_type: type, data, timestamp: at } = event
  const { instance_id, name } = creation
  const base = { seq, at, instance_id, name, resolver: creation.resolver.name }
  if (type === 'platform.input.requested') {
    const { request_id, prompt } = data
    const asked = { request_id: String(request_id), prompt: String(prompt ?? '').slice(0, PROMPT_MAX_CHARS) }
    return { ...base, event: 'question', status: 'awaiting_input', ...asked }
  }
  if (type !== 'platform.instance.status_changed') return undefined
  const status = String(data['to'])
  if (status === 'failed') {
    return { ...base, event: 'failure', status, error: (data['error'] ?? null) as NonNullable<Notice['error']> | null }
  }
  return status === 'completed' || status === 'cancelled' ? { ...base, event: 'end', status } : undefined
}

/** The command that continues: it answers, explains or shows. */
export function commandFor({ event, instance_id: id, request_id }: Notice): string {
  if (event === 'question') return `resolve instance answer ${id} ${quoteWord(request_id ?? '')}`
  return `resolve instance ${event === 'failure' ? 'explain' : 'show'} ${id}`
}

function linkFor({ instance_id }: Notice, link: string | null): string | null {
  return link === null ? null : `${link}/instances/${instance_id}`
}

/** The same at every try, so that a receiver can recognize a repeated one. */
export function webhookId({ instance_id, seq }: Notice, target: string): string {
  return `msg_${instance_id}_${seq}_${target}`
}

export function webhookBody(notice: Notice, link: string | null): string {
  const { event, seq: _, at: timestamp, ...data } = notice
  const command = commandFor(notice)
  return JSON.stringify({
    type: `resolve.${event}`,
    timestamp,
    data: { ...data, command, link: linkFor(notice, link) },
  })
}

/** The headers of Standard Webhooks: HMAC-SHA256 over id, time (seconds) and body. */
export function signatureHeaders(id: string, seconds: number, body: string, key: Buffer): Record<string, string> {
  const signature = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': String(seconds), 'webhook-signature': `v1,${signature}` }
}

export function slackBody(notice: Notice, link: string | null): string {
  const page = linkFor(notice, link)
  const lines = [
    `*${forSlack(titleOf(notice))}*`,
    ...(bodyOf(notice) === '' ? [] : [forSlack(bodyOf(notice))]),
    `\`${forSlack(commandFor(notice)).replaceAll('`', "'")}\``,
    ...(page === null ? [] : [`<${page}|Open>`]),
  ]
  return JSON.stringify({ text: lines.join('\n') })
}

const WORDS: Record<NotifyEvent, (notice: Notice) => string> = {
  question: () => 'asks',
  end: ({ status }) => `is ${status}`,
  failure: () => 'failed',
}

export function titleOf(notice: Notice): string {
  return cleanLine(`${notice.name ?? notice.resolver} (${notice.instance_id}) ${WORDS[notice.event](notice)}`)
}

export function bodyOf({ prompt, error }: Notice): string {
  return cleanLine(prompt ?? error?.detail ?? '')
}

/** Text of a resolver must not become a link or a mention (`<!channel>`). */
function forSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** For `notify test`. */
export function testNotice(now: Date): Notice {
  return {
    event: 'end',
    seq: 0,
    at: now.toISOString(),
    instance_id: '000000000000',
    name: 'Test of resolve notify',
    resolver: 'test',
    status: 'completed',
  }
}
