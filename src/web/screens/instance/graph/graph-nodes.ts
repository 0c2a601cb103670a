/** Reads the nodes of a pipeline and their statuses from the resolver's state (`state.nodes`). Pure. */
import { isObject } from '../../../../core/primitives/is-object.ts'

export type NodeStatus = 'pending' | 'running' | 'completed' | 'failed' | 'skipped'

export interface GraphNode {
  id: string
  status: NodeStatus
  /** Other properties of the node, as text. */
  about: string
}

const WORDS: Readonly<Record<string, NodeStatus>> = {
  pending: 'pending',
  waiting: 'pending',
  queued: 'pending',
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
  completed: '✓',
  failed: '✗',
  skipped: '⊘',
}

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
  const word = isObject(value) ? (value['status'] ?? value['state'] ?? value['outcome']) : value
  const rest = isObject(value)
    ? Object.entries(value).filter(([key, one]) => !['id', 'name', 'status'].includes(key) && typeof one !== 'object')
    : []
  const about = rest.map(([key, one]) => `${key} ${String(one)}`).join(', ')
  return { id, status: WORDS[String(word).toLowerCase()] ?? 'pending', about: about.slice(0, 200) }
}
