/** The nodes of a pipeline in the live frame: those that run or wait, then those that ended last. Follows the events of its run (decisions/0034, Contract). */
import type { EventEnvelope } from '../../core/protocol/event.ts'
import { cleanLine } from '../../core/view/clean.ts'
import { durationText } from '../../core/view/time-words.ts'
import type { FrameLine } from './frame.ts'

/** A hostile resolver can name any number of nodes. */
const KEPT_MAX = 200
const ENDED_SHOWN = 3
const SHOWN_MAX = 8

interface NodeNews {
  state: 'running' | 'waiting' | 'completed' | 'failed' | 'skipped'
  attempts: number
  since: number
  durationMs: number | undefined
}

const MARKS: Readonly<Record<NodeNews['state'], { shape: string; color: FrameLine['color'] }>> = {
  running: { shape: '●', color: 'cyan' },
  waiting: { shape: '◆', color: 'yellow' },
  completed: { shape: '✓', color: 'green' },
  failed: { shape: '✗', color: 'red' },
  skipped: { shape: '⊘', color: 'gray' },
}

export class PipelineNodes {
  /** In the order of their last news. */
  readonly #nodes = new Map<string, NodeNews>()
  #total: number | undefined
  readonly #ended = new Set<string>()

  /** `resolver`: the name of the resolver, which its events begin with. */
  take({ event_type: type, timestamp, data }: EventEnvelope, resolver: string): void {
    if (!type.startsWith(`${resolver}.`)) return
    const name = type.slice(resolver.length + 1)
    if (name === 'start' && typeof data['nodes'] === 'number') this.#total = data['nodes']
    const id = data['node_id']
    if (typeof id !== 'string' || id === '') return
    const before = this.#nodes.get(id)
    if (name === 'node_start') {
      this.#put(id, { state: 'running', attempts: 1, since: Date.parse(timestamp), durationMs: undefined })
    } else if (name === 'node_complete') {
      const ended = { state: endOf(data['status']), attempts: numberOf(data['attempts']) ?? before?.attempts ?? 1 }
      this.#put(id, { ...ended, since: Date.parse(timestamp), durationMs: numberOf(data['duration_ms']) })
      if (this.#ended.size < KEPT_MAX * 10) this.#ended.add(id)
    } else if (before === undefined) return
    else if (name === 'stage_retrying') before.attempts = (numberOf(data['attempt']) ?? before.attempts) + 1
    else if (name === 'interview_started') before.state = 'waiting'
    else if (name === 'interview_completed' || name === 'interview_timeout') before.state = 'running'
  }

  lines(now: number): FrameLine[] {
    const all = [...this.#nodes]
    if (all.length === 0) return []
    const isActive = ([, { state }]: [string, NodeNews]) => state === 'running' || state === 'waiting'
    const active = all.filter(isActive)
    const ended = all.filter((one) => !isActive(one)).slice(-ENDED_SHOWN)
    const shown = [...ended, ...active.slice(0, SHOWN_MAX - ended.length)]
    const more = active.length + ended.length - shown.length
    const of = this.#total === undefined ? '' : ` of ${this.#total}`
    return [
      { text: `  nodes: ${this.#ended.size}${of} done${more > 0 ? `, ${more} more running` : ''}`, dim: true },
      ...shown.map(([id, node]) => lineOf(id, node, now)),
    ]
  }

  #put(id: string, news: NodeNews): void {
    this.#nodes.delete(id)
    this.#nodes.set(id, news)
    if (this.#nodes.size <= KEPT_MAX) return
    const [oldest] = this.#nodes.keys()
    if (oldest !== undefined) this.#nodes.delete(oldest)
  }
}

function lineOf(id: string, { state, attempts, since, durationMs }: NodeNews, now: number): FrameLine {
  const { shape, color } = MARKS[state]
  const isActive = state === 'running' || state === 'waiting'
  const time = isActive ? Math.max(0, now - since) : durationMs
  const parts = [
    `${shape} ${cleanLine(id)}`,
    ...(isActive ? [state] : []),
    ...(attempts > 1 ? [`${attempts} attempts`] : []),
    ...(time === undefined || Number.isNaN(time) ? [] : [durationText(time)]),
  ]
  return { text: `  ${parts.join('  ')}`, ...(color === undefined ? {} : { color }) }
}

function endOf(status: unknown): NodeNews['state'] {
  if (status === 'success' || status === 'partial_success' || status === 'completed') return 'completed'
  return status === 'skipped' ? 'skipped' : 'failed'
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
}
