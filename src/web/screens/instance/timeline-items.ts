/** Events as the timeline shows them: phases as spans with the events that fell into them below (web.md, Timeline). Pure. */
import { type Tier, tierOf } from '../../../core/protocol/event.ts'
import { cleanLine } from '../../../core/view/clean.ts'
import { progressLine } from '../../../core/view/event-words.ts'
import type { NumberedEvent } from '../../live/follow-events.ts'

export type TimelineItem =
  | { kind: 'phase'; key: string; name: string; at: string; count: number; until: string | null }
  | { kind: 'event'; key: string; seq: number; event: NumberedEvent['event']; line: string; isKnown: boolean }

export interface TimelineFilter {
  tiers: ReadonlySet<Tier>
  /** Lower case; "" for all. */
  text: string
}

const LINE_MAX = 300

export function timelineItems(events: readonly NumberedEvent[], { tiers, text }: TimelineFilter): TimelineItem[] {
  const items: TimelineItem[] = []
  let span: Extract<TimelineItem, { kind: 'phase' }> | undefined
  for (const { seq, event } of events) {
    if (event.event_type === 'resolver:phase') {
      const name = event.data['name'] ?? event.data['phase']
      if (span !== undefined) span.until = event.timestamp
      span = {
        kind: 'phase',
        key: `phase ${seq}`,
        name: cleanLine(String(name)),
        at: event.timestamp,
        count: 0,
        until: null,
      }
      items.push(span)
    }
    if (!tiers.has(tierOf(event.event_type))) continue
    const known = progressLine(event)
    const line = known ?? keysAndValues(event.data)
    if (text !== '' && !`${event.event_type} ${line} ${JSON.stringify(event.data)}`.toLowerCase().includes(text))
      continue
    if (span !== undefined) span.count += 1
    items.push({ kind: 'event', key: String(seq), seq, event, line: line.slice(0, LINE_MAX), isKnown: known !== null })
  }
  // Where something is looked for, a phase without a hit is only in the way.
  return text === '' ? items : items.filter((item) => item.kind === 'event' || item.count > 0)
}

/** What a person looks for first when something went wrong. */
export function isFailure({ event_type, data }: NumberedEvent['event']): boolean {
  if (event_type === 'platform.instance.status_changed') return data['to'] === 'failed'
  if (event_type === 'resolver:completed') return data['outcome'] === 'failed'
  if (event_type === 'resolver:artifact') return data['kind'] === 'error'
  return /^platform\.(?:setup|worker|reality_check)\.failed$/.test(event_type)
}

/** An event nobody has words for, as its keys and values. */
function keysAndValues(data: Record<string, unknown>): string {
  const parts = Object.entries(data).map(
    ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  return cleanLine(parts.join('  '))
}
