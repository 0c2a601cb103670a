/** Formats one event as a sentence, for the terminal's progress lines and the page's timeline. */
import { type EventEnvelope, isDataChanged } from '../protocol/event.ts'
import { isStatus } from '../protocol/status.ts'
import { cleanLine } from './clean.ts'
import { statusText } from './status-words.ts'

type Data = Record<string, unknown>

/** The progress line of an event, cleaned; null for events that are not shown as progress. */
export function progressLine(event: EventEnvelope): string | null {
  const known = Object.hasOwn(progressTexts, event.event_type) ? progressTexts[event.event_type] : undefined
  const line = known?.(event.data)
  if (line !== undefined) return line === null ? null : cleanLine(line)
  return isDataChanged(event.event_type) ? cleanLine(`data ${list(event.data['paths'])}`) : null
}

const progressTexts: Record<string, (data: Data) => string | null> = {
  'platform.instance.status_changed': ({ to, reason, forced }) => {
    if (!isStatus(to)) return null
    const why = [text(reason), forced === true ? 'forced' : ''].filter(Boolean).join(', ')
    return `${statusText(to)}${why === '' ? '' : ` (${why})`}`
  },
  'platform.instance.queued': ({ position, bound, limit }) =>
    `queued, place ${text(position)} (at most ${text(limit)} ${bound === 'resolver' ? 'of this resolver' : 'here'} run at the same time)`,
  'platform.instance.dequeued': () => 'its turn has come',
  'platform.setup.progress': ({ step, total, description }) =>
    `setup ${text(step)}/${text(total)}: ${text(description)}`,
  'platform.setup.failed': ({ stage, error }) => `setup failed at ${text(stage)}: ${text(error)}`,
  'platform.worker.failed': ({ cause, error }) => `worker failed: ${text(cause)} ${text(error)}`,
  'platform.worker.adopted': () => 'another host took over',
  'platform.input.requested': ({ request_id, prompt }) => `question ${text(request_id)}: ${text(prompt)}`,
  'platform.input.answered': ({ request_id, actor, via }) =>
    `answered ${text(request_id)} by ${text(actor)} (${text(via)})`,
  'platform.message.accepted': ({ message_type, actor }) => `message ${text(message_type)} from ${text(actor)}`,
  'platform.watchdog.warning': ({ kind, value, limit, detail }) =>
    `warning: ${typeof detail === 'string' ? detail : `${text(kind)} at ${text(value)} of ${text(limit)}`}`,
  'platform.event.rejected': ({ reason }) => `warning: an event line of the resolver was rejected (${text(reason)})`,
  'resolver:phase': (data) => `phase ${text(data['name'] ?? data['phase'])}`,
  'resolver:progress': ({ milestone, fraction, label }) => `progress${percent(fraction)} ${text(label ?? milestone)}`,
  'resolver:artifact': ({ kind, value }) => `artifact ${text(kind)}: ${text(value)}`,
}

export function percent(fraction: unknown): string {
  if (typeof fraction !== 'number' || !Number.isFinite(fraction)) return ''
  return ` ${Math.round(Math.min(1, Math.max(0, fraction)) * 100)}%`
}

function text(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function list(value: unknown): string {
  return Array.isArray(value) ? value.map(text).join(', ') : text(value)
}
