/**
 * Dataflow mode as pure functions: a node runs when all before it are done (docs/pipelines.md, Dataflow). The state is plain JSON and is the
 * checkpoint.
 */
import { type Flow, reachableFrom, targetsOf } from '../check/flow.ts'
import { isGood, type Outcome, ownOf } from './outcome.ts'

export interface DataflowState {
  /** Of the nodes that ended; `skipped`: a node before it failed. */
  outcomes: Record<string, Outcome>
  /** In the order in which they ended. */
  completed: string[]
}

export type DataflowEnd = { status: 'success' | 'fail'; reason: string | undefined }

export function beginDataflow(): DataflowState {
  return { outcomes: {}, completed: [] }
}

/** What can run now, in the order of the source. `running`: what was begun and has not ended. */
export function readyNodes(flow: Flow, state: DataflowState, running: ReadonlySet<string>): string[] {
  return [...flow.graph.nodes.keys()].filter(
    (id) =>
      ownOf(state.outcomes, id) === undefined &&
      !running.has(id) &&
      (flow.incoming.get(id) ?? []).every(({ from }) => isGood(ownOf(state.outcomes, from)?.status)),
  )
}

/** `state` is not changed. What follows a failed node is skipped. */
export function afterNode(flow: Flow, state: DataflowState, id: string, outcome: Outcome): DataflowState {
  const outcomes = { ...state.outcomes, [id]: outcome }
  if (!isGood(outcome.status)) {
    for (const after of reachableFrom([id], (one) => targetsOf(flow.outgoing, one)))
      if (ownOf(outcomes, after) === undefined) outcomes[after] = { status: 'skipped', notes: `"${id}" failed.` }
  }
  return { outcomes, completed: [...state.completed, id] }
}

/** Undefined while something can still run. */
export function dataflowEnd(flow: Flow, state: DataflowState): DataflowEnd | undefined {
  if ([...flow.graph.nodes.keys()].some((id) => ownOf(state.outcomes, id) === undefined)) return undefined
  const failures = state.completed.filter((id) => !isGood(ownOf(state.outcomes, id)?.status))
  if (failures.length === 0) return { status: 'success', reason: undefined }
  const reasons = failures.map(
    (id) => `"${id}" failed: ${ownOf(state.outcomes, id)?.failure_reason ?? 'no reason is told.'}`,
  )
  return { status: 'fail', reason: reasons.join(' ') }
}
