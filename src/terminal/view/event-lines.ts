/** Formats events for the terminal: the colour of a progress line, and any event as one line. */
import type { styleText } from 'node:util'
import { type EventEnvelope, isDataChanged } from '../../core/protocol/event.ts'
import { isStatus } from '../../core/protocol/status.ts'
import { cleanLine } from '../../core/view/clean.ts'
import { STATUS_WORDS } from '../../core/view/status-words.ts'

/** The colour of a progress line; the text alone has the same meaning. */
export function progressStyle({ event_type, data }: EventEnvelope): Parameters<typeof styleText>[0] | undefined {
  if (event_type === 'platform.instance.status_changed')
    return isStatus(data['to']) ? STATUS_WORDS[data['to']].color : undefined
  if (event_type === 'resolver:phase') return 'bold'
  if (event_type === 'platform.input.requested') return STATUS_WORDS.awaiting_input.color
  if (/^platform\.(?:setup\.failed|worker\.failed)$/.test(event_type)) return STATUS_WORDS.failed.color
  return isDataChanged(event_type) ? 'dim' : undefined
}

/** Any event as one line: number, time, type and data. */
export function eventLine(seq: number, event: EventEnvelope): string {
  const time = event.timestamp.slice(11, 23)
  return `${String(seq).padStart(5)}  ${time}  ${cleanLine(event.event_type)}  ${cleanLine(JSON.stringify(event.data))}`
}
