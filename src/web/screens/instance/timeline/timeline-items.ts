/** Converts events to timeline items: phases are spans with their events below. Pure. */
import { type Tier, tierOf } from '../../../../core/protocol/event.ts'
import { cleanLine } from '../../../../core/view/clean.ts'
import { eventSentence, isReportOfQuestion } from '../../../../core/view/event-words.ts'
import type { NumberedEvent } from '../../../live/follow-events.ts'

export type TimelineItem =
  | { kind: 'phase'; key: string; name: string; at: string; count: number; until: string | null }
  | {
      kind: 'event'
      key: string
      seq: number
      event: NumberedEvent['event']
      line: string
      isKnown: boolean
      isFailure: boolean
      /** How many earlier events like it are folded into it, and the number of the first. */
      folded: number
      firstSeq: number
    }

export interface TimelineFilter {
  tiers: ReadonlySet<Tier>
  /** Lower case; "" for all. */
  text: string
}

const LINE_MAX = 300

/** The items of a growing list of events, computed incrementally. */
export class TimelineItems {
  readonly #filter: TimelineFilter
  readonly #all: TimelineItem[] = []
  #span: Extract<TimelineItem, { kind: 'phase' }> | undefined
  #taken = 0

  constructor(filter: TimelineFilter) {
    this.#filter = filter
  }

  /** All items up to the last of these events. */
  upTo(events: readonly NumberedEvent[]): readonly TimelineItem[] {
    for (; this.#taken < events.length; this.#taken += 1) {
      const numbered = events[this.#taken]
      if (numbered !== undefined) this.#take(numbered)
    }
    // During a search, phases without a match are hidden.
    if (this.#filter.text === '') return [...this.#all]
    return this.#all.filter((item) => item.kind === 'event' || item.count > 0)
  }

  #take({ seq, event }: NumberedEvent): void {
    const { tiers, text } = this.#filter
    if (event.event_type === 'resolver:phase') {
      const name = cleanLine(String(event.data['name'] ?? event.data['phase']))
      if (this.#span !== undefined) this.#span.until = event.timestamp
      this.#span = { kind: 'phase', key: `phase ${seq}`, name, at: event.timestamp, count: 0, until: null }
      this.#all.push(this.#span)
    }
    if (!tiers.has(tierOf(event.event_type))) return
    // The platform's event of the same question tells more; who looks for this one, or hides those of the platform, finds it.
    if (text === '' && tiers.has(1) && isReportOfQuestion(event.event_type)) return
    const known = eventSentence(event)
    const line = known ?? keysAndValues(event.data)
    const isMeant = () => `${event.event_type} ${line} ${JSON.stringify(event.data)}`.toLowerCase().includes(text)
    if (text !== '' && !isMeant()) return
    if (this.#span !== undefined) this.#span.count += 1
    const words = { line: line.slice(0, LINE_MAX), isKnown: known !== null, isFailure: isFailure(event) }
    const last = this.#all.at(-1)
    // A search shows each match alone.
    if (text === '' && last?.kind === 'event' && isRepeated(last.event, event)) {
      Object.assign(last, { ...words, seq, event, folded: last.folded + 1 })
      return
    }
    this.#all.push({ ...{ kind: 'event', key: String(seq), seq, event }, ...words, folded: 0, firstSeq: seq })
  }
}

/** Whether an event says the same as the one before it, later: a heartbeat, or progress of the same step. */
export function isRepeated(before: NumberedEvent['event'], after: NumberedEvent['event']): boolean {
  if (before.event_type !== after.event_type) return false
  const same = (...keys: string[]) => keys.every((key) => before.data[key] === after.data[key])
  switch (after.event_type) {
    case 'resolver:health':
      return true
    case 'resolver:progress':
      return same('milestone', 'label')
    case 'platform.setup.progress':
      return same('step', 'description', 'exit_code') && after.data['exit_code'] === undefined
    default:
      return false
  }
}

/** The time since the run began: `+0:04.2`, `+12:30`, `+2:10:05`. */
export function sinceText(at: string, start: string): string {
  const ms = Date.parse(at) - Date.parse(start)
  if (!Number.isFinite(ms)) return ''
  const seconds = Math.max(0, ms) / 1_000
  const two = (number: number) => String(Math.floor(number)).padStart(2, '0')
  if (seconds < 60) return `+0:${two(seconds)}.${Math.floor((seconds * 10) % 10)}`
  if (seconds < 3_600) return `+${Math.floor(seconds / 60)}:${two(seconds % 60)}`
  return `+${Math.floor(seconds / 3_600)}:${two((seconds / 60) % 60)}:${two(seconds % 60)}`
}

/** Whether the event reports a failure; "Jump to failure" goes to the first one. */
export function isFailure({ event_type, data }: NumberedEvent['event']): boolean {
  if (event_type === 'platform.instance.status_changed') return data['to'] === 'failed'
  if (event_type === 'resolver:completed') return data['outcome'] === 'failed'
  if (event_type === 'resolver:artifact') return data['kind'] === 'error'
  return /^platform\.(?:setup|worker|reality_check)\.failed$/.test(event_type)
}

/** The text of an event without a sentence of its own: its keys and values. */
function keysAndValues(data: Record<string, unknown>): string {
  const parts = Object.entries(data).map(
    ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  return cleanLine(parts.join('  '))
}
