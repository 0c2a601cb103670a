/** Whether a node is executed again after an attempt (docs/pipelines.md, Retries). Pure: the caller waits and counts. */
import { integerOf, isOn, type PipelineGraph, type PipelineNode } from '../language/graph.ts'
import { failed, type Outcome } from './outcome.ts'

export type AfterAttempt = { kind: 'again'; delayMs: number } | { kind: 'final'; outcome: Outcome }

const FIRST_MS = 200
const MOST_MS = 60_000

/** More attempts than the first: of the node, else of the graph. */
export function maxRetries(graph: PipelineGraph, node: PipelineNode): number {
  return Math.max(
    0,
    integerOf(node.attributes, 'max_retries') ?? integerOf(graph.attributes, 'default_max_retries') ?? 0,
  )
}

/** `attempt` counts from 1. `random`: 0 to 1, spreads the delays of nodes that wait for the same thing. */
export function afterAttempt(
  graph: PipelineGraph,
  node: PipelineNode,
  attempt: number,
  outcome: Outcome,
  random: number,
): AfterAttempt {
  if (outcome.status !== 'retry') return { kind: 'final', outcome }
  if (attempt <= maxRetries(graph, node)) {
    const delay = Math.min(FIRST_MS * 2 ** (attempt - 1), MOST_MS)
    return { kind: 'again', delayMs: Math.round(delay * (0.5 + random)) }
  }
  const why = outcome.failure_reason ?? outcome.notes
  if (isOn(node.attributes, 'allow_partial')) {
    return { kind: 'final', outcome: { ...outcome, status: 'partial_success', notes: why ?? 'Retries were used up.' } }
  }
  const reason = `Retries were used up after ${attempt} ${attempt === 1 ? 'attempt' : 'attempts'}${why === undefined ? '.' : `: ${why}`}`
  return { kind: 'final', outcome: { ...outcome, ...failed(reason), is_exhausted: true } }
}
