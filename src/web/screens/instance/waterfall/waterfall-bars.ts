/** Converts the events and the story of a run to bars on one time axis: setup, workers, phases, nodes, sessions, waits, git. Pure. */
import { isObject } from '../../../../core/primitives/is-object.ts'
import { isStatus, isTerminal } from '../../../../core/protocol/status.ts'
import { cleanLine } from '../../../../core/view/clean.ts'
import { eventSentence } from '../../../../core/view/event-words.ts'
import type { Story } from '../../../../core/view/story.ts'
import { durationText } from '../../../../core/view/time-words.ts'
import type { NumberedEvent } from '../../../live/follow-events.ts'

export const BAR_KINDS = ['queue', 'setup', 'worker', 'phase', 'node', 'session', 'wait', 'git'] as const

export type BarKind = (typeof BAR_KINDS)[number]

export interface Bar {
  key: string
  kind: BarKind
  name: string
  /** Milliseconds since 1970. */
  from: number
  /** null while it runs; equal to `from` for a moment. */
  until: number | null
  outcome: 'done' | 'failed' | 'running'
  /** The event that began it. */
  seq?: number
  /** Further properties, for the inspector. */
  facts: readonly (readonly [string, string])[]
}

/** The bars that only events tell, read incrementally from a growing list. */
export class EventBars {
  readonly #bars: Bar[] = []
  /** The open bars, by their subject. */
  readonly #open = new Map<string, Bar>()
  #taken = 0

  upTo(events: readonly NumberedEvent[]): readonly Bar[] {
    for (; this.#taken < events.length; this.#taken += 1) {
      const one = events[this.#taken]
      if (one !== undefined) this.#take(one)
    }
    return this.#bars
  }

  #take({ seq, event }: NumberedEvent): void {
    const { event_type: type, data } = event
    const at = Date.parse(event.timestamp)
    if (Number.isNaN(at)) return
    const begin = (subject: string, kind: BarKind, name: string, facts: Bar['facts'] = []) => {
      this.#end(subject, at, 'done')
      const bar: Bar = { key: `${kind}-${seq}`, kind, name, from: at, until: null, outcome: 'running', seq, facts }
      this.#open.set(subject, bar)
      this.#bars.push(bar)
    }
    switch (type) {
      case 'platform.instance.queued':
        if (!this.#open.has('queue')) begin('queue', 'queue', 'Waits for a worker')
        return
      case 'platform.instance.dequeued':
        this.#end('queue', at, 'done')
        return
      case 'platform.setup.progress':
        if (!this.#open.has(`setup ${data['step']}`)) {
          this.#endAll('setup ', at, 'done')
          begin(`setup ${data['step']}`, 'setup', words(data['description']) || `Step ${words(data['step'])}`)
        }
        if (data['exit_code'] !== undefined)
          this.#end(`setup ${data['step']}`, at, data['exit_code'] === 0 ? 'done' : 'failed')
        return
      case 'platform.setup.completed':
        this.#endAll('setup ', at, 'done')
        return
      case 'platform.setup.failed':
        this.#endAll('setup ', at, 'failed')
        return
      case 'platform.worker.launched':
        begin('worker', 'worker', `Worker ${words(data['incarnation'])}`.trim(), [
          ['Executor', words(data['executor'])],
        ])
        return
      case 'platform.worker.failed':
        this.#end('worker', at, 'failed')
        return
      case 'platform.instance.status_changed':
        this.#status(data['to'], at)
        return
      case 'platform.git.pushed':
      case 'platform.git.pull_request':
      case 'platform.git.snapshot':
      case 'platform.promotion.completed':
      case 'platform.promotion.failed': {
        const outcome = type.endsWith('failed') ? 'failed' : 'done'
        const name = eventSentence(event) ?? type
        this.#bars.push({ key: `git-${seq}`, kind: 'git', name, from: at, until: at, outcome, seq, facts: [] })
        return
      }
    }
    this.#node(type, data, at, begin)
  }

  #node(
    type: string,
    data: Record<string, unknown>,
    at: number,
    begin: (subject: string, kind: BarKind, name: string, facts: Bar['facts']) => void,
  ): void {
    const isStart = /[.:]node_start(?:ed)?$/.test(type)
    if (!isStart && !/[.:]node_complete(?:d)?$/.test(type)) return
    const id = words(data['node_id'] ?? data['node'])
    if (id === '') return
    if (!isStart) {
      this.#end(`node ${id}`, at, /^fail/.test(words(data['status'])) ? 'failed' : 'done')
      return
    }
    const told = ['handler', 'model', 'attempt'].filter((key) => data[key] !== undefined)
    begin(`node ${id}`, 'node', id, [['Node', id], ...told.map((key) => [titled(key), words(data[key])] as const)])
  }

  #status(to: unknown, at: number): void {
    if (!isStatus(to) || !(isTerminal(to) || to === 'paused')) return
    const outcome = to === 'failed' ? 'failed' : 'done'
    this.#endAll('', at, outcome)
  }

  #endAll(beginning: string, at: number, outcome: 'done' | 'failed'): void {
    for (const subject of [...this.#open.keys()]) if (subject.startsWith(beginning)) this.#end(subject, at, outcome)
  }

  #end(subject: string, at: number, outcome: 'done' | 'failed'): void {
    const bar = this.#open.get(subject)
    if (bar === undefined) return
    Object.assign(bar, { until: Math.max(at, bar.from), outcome })
    this.#open.delete(subject)
  }
}

/** The bars of the story: phases, LLM sessions, waits for people. */
export function storyBars(story: Story): Bar[] {
  const end = isTerminal(story.status) ? Date.parse(story.endedAt ?? story.lastEventAt) : null
  const failed = story.status === 'failed'
  const phases = story.phases.map((phase, at): Bar => {
    const next = story.phases[at + 1]
    const until = next === undefined ? end : Date.parse(next.at)
    const isLast = next === undefined
    return {
      ...{ key: `phase-${at}`, kind: 'phase', name: cleanLine(phase.name), from: Date.parse(phase.at), until },
      ...{ outcome: until === null ? 'running' : isLast && failed ? 'failed' : 'done', facts: [] },
    }
  })
  const sessions = (story.sessions ?? []).map((one): Bar => {
    const until = one.ended_at === null ? end : Date.parse(one.ended_at)
    const cost = one.cost_usd === null ? 'unknown' : `$${one.cost_usd.toFixed(4)}`
    const tokens = one.usage.input_tokens + one.usage.output_tokens
    return {
      ...{
        key: `session-${one.id}`,
        kind: 'session',
        name: cleanLine(one.name),
        from: Date.parse(one.started_at),
        until,
      },
      outcome: one.status === 'failed' ? 'failed' : until === null ? 'running' : 'done',
      facts: [
        ['Session', one.id],
        ['Model', `${cleanLine(one.model)}${one.kind === 'live' ? '' : ` (${one.kind})`}`],
        ['Steps', String(one.steps)],
        ['Tokens', tokens.toLocaleString('en')],
        ['Cost', cost],
        ...(one.error === null ? [] : [['Error', cleanLine(one.error.detail)] as const]),
      ],
    }
  })
  const waits = story.requests.map((one, at): Bar => {
    const answered = one.answered_at === null ? end : Date.parse(one.answered_at)
    const until = one.status === 'pending' ? null : (answered ?? Date.parse(one.asked_at))
    return {
      ...{ key: `wait-${at}`, kind: 'wait', name: cleanLine(one.id), from: Date.parse(one.asked_at), until },
      outcome: until === null ? 'running' : 'done',
      facts: [
        ['Question', cleanLine(one.prompt)],
        ['State', one.status === 'pending' ? 'open' : one.status],
        ...(one.actor === null ? [] : [['Answered by', cleanLine(one.actor)] as const]),
      ],
    }
  })
  return [...phases, ...sessions, ...waits]
}

/** All bars, each group in the order of {@link BAR_KINDS}, and the span of time they need. */
export function arrange(bars: readonly Bar[], story: Story, now: number) {
  const from = Date.parse(story.creation.created_at)
  const ended = isTerminal(story.status) ? Date.parse(story.endedAt ?? story.lastEventAt) : now
  const until = Math.max(ended, from + 1, ...bars.map((bar) => bar.until ?? bar.from))
  const valid = bars.filter((bar) => Number.isFinite(bar.from))
  const rank = (bar: Bar) => BAR_KINDS.indexOf(bar.kind)
  return { from, until, bars: valid.toSorted((a, b) => rank(a) - rank(b) || a.from - b.from) }
}

const STEPS_MS = [1, 2, 5].flatMap((step) => [step, step * 10, step * 100, step * 1_000, step * 10_000])
const LONG_STEPS_MS = [60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400].map((seconds) => seconds * 1_000)

/** The marks of the axis in milliseconds after the beginning: at most this many, at round distances. */
export function ticksOf(lengthMs: number, most: number): number[] {
  const steps = [...STEPS_MS, ...LONG_STEPS_MS].toSorted((a, b) => a - b)
  const fit = steps.find((step) => lengthMs / step <= most)
  const step = fit ?? Math.ceil(lengthMs / most / 86_400_000) * 86_400_000
  return Array.from({ length: Math.floor(lengthMs / step) + 1 }, (_, at) => at * step)
}

/** As {@link durationText}, in milliseconds below a second. */
export function exactText(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms * 10) / 10} ms` : durationText(ms)
}

/** Where a bar is on the axis, in percent. */
export function placeOf(bar: Bar, from: number, until: number, now: number): { left: number; width: number } {
  const length = Math.max(1, until - from)
  const left = Math.min(100, Math.max(0, ((bar.from - from) / length) * 100))
  const end = bar.until ?? Math.min(now, until)
  return { left, width: Math.min(100 - left, Math.max(0, ((end - bar.from) / length) * 100)) }
}

function words(value: unknown): string {
  if (value === undefined || value === null || isObject(value)) return ''
  return cleanLine(String(value))
}

function titled(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}
