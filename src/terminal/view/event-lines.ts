/** Formats events for the terminal: the colour of a progress line, and any event as one line. */
import type { styleText } from 'node:util'
import { type EventEnvelope, isDataChanged } from '../../core/protocol/event.ts'
import { isStatus } from '../../core/protocol/status.ts'
import { cleanLine } from '../../core/view/clean.ts'
import { eventWords } from '../../core/view/event-words.ts'
import { STATUS_WORDS } from '../../core/view/status-words.ts'
import { clockText } from '../../core/view/time-words.ts'

/** The colour of a progress line; the text alone has the same meaning. */
export function progressStyle({ event_type, data }: EventEnvelope): Parameters<typeof styleText>[0] | undefined {
  if (event_type === 'platform.instance.status_changed')
    return isStatus(data['to']) ? STATUS_WORDS[data['to']].color : undefined
  if (event_type === 'resolver:phase') return 'bold'
  if (event_type === 'platform.input.requested') return STATUS_WORDS.awaiting_input.color
  if (event_type === 'platform.egress.denied') return 'yellow'
  if (/^platform\.(?:setup\.failed|worker\.failed)$/.test(event_type)) return STATUS_WORDS.failed.color
  return isDataChanged(event_type) ? 'dim' : undefined
}

const DATA_MAX_CHARS = 300

/** An event as one line for a person: number, local time, type, and its words; without words, the beginning of its data. */
export function eventLine(seq: number, event: EventEnvelope): string {
  const words = eventWords(event) ?? cutText(cleanLine(JSON.stringify(event.data)), DATA_MAX_CHARS)
  return `${String(seq).padStart(5)}  ${clockText(event.timestamp, true)}  ${cleanLine(event.event_type)}  ${words}`.trimEnd()
}

function cutText(text: string, chars: number): string {
  return text.length > chars ? `${text.slice(0, chars)}…` : text
}
