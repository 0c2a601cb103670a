/** Reads the nodes of a pipeline and the edges that were taken from the resolver's state (`state.nodes`, `state.edges`). Pure. */
import { isObject } from '../../../../core/primitives/is-object.ts'

export type NodeStatus = 'pending' | 'running' | 'waiting' | 'completed' | 'failed' | 'skipped'

export interface GraphNode {
  id: string
  status: NodeStatus
  label?: string
  handler?: string
  /** How often it ran, and how often the last run was tried. */
  visits?: number
  attempts?: number
  startedAt?: number
  durationMs?: number
  costUsd?: number
  reason?: string
  /** Its LLM sessions, and the directories of its runs below `data/nodes`. */
  sessions: readonly string[]
  dirs: readonly string[]
  /** Properties without a field of their own, as text. */
  about: string
}

/** How often each edge was taken: by {@link edgeKey}. */
export type TakenEdges = ReadonlyMap<string, number>

const WORDS: Readonly<Record<string, NodeStatus>> = {
  pending: 'pending',
  queued: 'pending',
  waiting: 'waiting',
  running: 'running',
  started: 'running',
  active: 'running',
  completed: 'completed',
  complete: 'completed',
  success: 'completed',
  succeeded: 'completed',
  done: 'completed',
  failed: 'failed',
  fail: 'failed',
  error: 'failed',
  skipped: 'skipped',
  cancelled: 'skipped',
}

export const NODE_SHAPES: Readonly<Record<NodeStatus, string>> = {
  pending: '○',
  running: '●',
  waiting: '◆',
  completed: '✓',
  failed: '✗',
  skipped: '⊘',
}

const NAMED = new Set(
  'id name status label handler visits attempts started_at duration_ms cost_usd reason sessions dirs'.split(' '),
)
const LISTED_MAX = 50
const TEXT_MAX = 200

/** From `{id: status}`, `{id: {status, …}}` or `[{id, status, …}]`. */
export function nodesOf(state: Record<string, unknown> | null | undefined): GraphNode[] {
  const given = state?.['nodes']
  if (typeof given !== 'object' || given === null) return []
  const pairs: [string, unknown][] = Array.isArray(given)
    ? given.flatMap((one: unknown) =>
        isObject(one) ? [[String(one['id'] ?? one['name'] ?? ''), one] as [string, unknown]] : [],
      )
    : Object.entries(given)
  return pairs.filter(([id]) => id !== '').map(([id, value]) => toNode(id, value))
}

function toNode(id: string, value: unknown): GraphNode {
  const fields = isObject(value) ? value : {}
  const word = isObject(value) ? (value['status'] ?? value['state'] ?? value['outcome']) : value
  const rest = Object.entries(fields).filter(([key, one]) => !NAMED.has(key) && typeof one !== 'object')
  const about = rest.map(([key, one]) => `${key} ${String(one)}`).join(', ')
  const known = {
    label: textIn(fields['label']),
    handler: textIn(fields['handler']),
    reason: textIn(fields['reason']),
    visits: countIn(fields['visits']),
    attempts: countIn(fields['attempts']),
    durationMs: countIn(fields['duration_ms']),
    costUsd: countIn(fields['cost_usd']),
    startedAt: timeIn(fields['started_at']),
  }
  const lists = { sessions: textsIn(fields['sessions']), dirs: textsIn(fields['dirs']) }
  const given = Object.fromEntries(Object.entries(known).filter(([, one]) => one !== undefined))
  const key = String(word).toLowerCase()
  const status = Object.hasOwn(WORDS, key) ? WORDS[key] : undefined
  return { id, status: status ?? 'pending', ...given, ...lists, about: about.slice(0, TEXT_MAX) }
}

/** Of the names alone: any text can be the name of a node. */
export function edgeKey(from: string, to: string): string {
  return JSON.stringify([from, to])
}

export function takenEdges(state: Record<string, unknown> | null | undefined): TakenEdges {
  const given = state?.['edges']
  if (!Array.isArray(given)) return new Map()
  return new Map(
    given.filter(isObject).flatMap(({ from, to, taken }) => {
      const count = countIn(taken) ?? 1
      return typeof from === 'string' && typeof to === 'string' && count > 0
        ? [[edgeKey(from, to), count] as const]
        : []
    }),
  )
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string').slice(-LISTED_MAX) : []
}

function countIn(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
}

/** Milliseconds since 1970. */
function timeIn(value: unknown): number | undefined {
  const at = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(at) ? undefined : at
}
