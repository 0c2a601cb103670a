/** Runs a pipeline in dataflow mode: each node when all before it have ended, with what they gave; those that do not depend on each other side by side. */
import { type Flow, reachableFrom } from '../check/flow.ts'
import { afterNode, beginDataflow, type DataflowState, dataflowEnd, readyNodes } from '../engine/dataflow.ts'
import { failed, isGood, type Outcome, ownOf } from '../engine/outcome.ts'
import { beginWalk, type WalkState } from '../engine/walk.ts'
import { integerOf, type PipelineNode } from '../language/graph.ts'
import { outputOf } from './scopes.ts'
import { sideBySide } from './side-by-side.ts'
import { type Ended, EXECUTIONS_MAX, executed, type Scope, TOO_MANY, type Walks } from './walk.ts'

const MAX_PARALLEL = 4

type Context = Readonly<Record<string, unknown>>

export async function runDataflow(walks: Walks, scope: Scope, context: Context, signal: AbortSignal): Promise<Ended> {
  const { flow } = scope
  const nodes = inOrder(flow)
  let state = beginDataflow()
  for (const { node: id, outcome } of walks.log.of(scope.id)) {
    const node = flow.graph.nodes.get(id)
    if (node === undefined) continue
    state = afterNode(flow, state, id, outcome)
    walks.onStep?.(scope, { node, outcome, isRead: true }, undefined)
  }
  const running = new Set<string>()
  await sideBySide<{ id: string; outcome: Outcome }>({
    most: Math.max(1, integerOf(flow.graph.attributes, 'max_parallel') ?? MAX_PARALLEL),
    isDecided: () => false,
    signal,
    next() {
      const [id] = readyNodes(flow, state, running)
      if (id === undefined) return undefined
      running.add(id)
      const node = flow.graph.nodes.get(id) as PipelineNode
      const before = walkState(flow, nodes, state, id, context)
      const inputs = (flow.incoming.get(id) ?? []).flatMap(({ from }) => inputFrom(flow, state, from))
      return {
        async run(until) {
          if (walks.log.size >= EXECUTIONS_MAX) return { id, outcome: failed(TOO_MANY) }
          const execution = { scope, node, state: before, edge: undefined, why: 'dataflow' as const, inputs }
          return { id, outcome: await executed(walks, { ...execution, signal: until }) }
        },
        ended({ outcome }) {
          running.delete(id)
          state = afterNode(flow, state, id, outcome)
          walks.onStep?.(scope, { node, outcome, isRead: false }, undefined)
        },
      }
    },
  })
  return endOf(flow, nodes, state, context)
}

/** So that a node stands after all before it; of equals the first of the source. */
function inOrder(flow: Flow): string[] {
  const before = new Map(
    [...flow.graph.nodes.keys()].map((id) => [id, new Set(flow.incoming.get(id)?.map(({ from }) => from))]),
  )
  const order: string[] = []
  const ready = [...before].filter(([, from]) => from.size === 0).map(([id]) => id)
  for (const id of ready) {
    order.push(id)
    for (const { to } of flow.outgoing.get(id) ?? []) {
      const left = before.get(to)
      if (left?.delete(id) === true && left.size === 0) ready.push(to)
    }
  }
  return order
}

function inputFrom(flow: Flow, { outcomes }: DataflowState, from: string): { node: PipelineNode; output: string }[] {
  const node = flow.graph.nodes.get(from)
  const outcome = ownOf(outcomes, from)
  return node === undefined || outcome === undefined ? [] : [{ node, output: outputOf(outcome) }]
}

/** The context is that of the run with what all nodes before it left, in their order. */
function walkState(
  flow: Flow,
  nodes: readonly string[],
  { outcomes, completed }: DataflowState,
  id: string,
  context: Context,
): WalkState {
  const before = reachableFrom([id], (one) => (flow.incoming.get(one) ?? []).map(({ from }) => from))
  const { state } = beginWalk(id, context)
  const others = nodes.filter((one) => one !== id && before.has(one))
  return { ...state, outcomes, completed, context: merged(state.context, others, outcomes) }
}

/** The run gave what its last node gave. */
function endOf(flow: Flow, nodes: readonly string[], state: DataflowState, context: Context): Ended {
  const { status, reason } = dataflowEnd(flow, state) ?? { status: 'fail', reason: 'Nodes were left.' }
  const { outcomes, completed } = state
  const done = nodes.filter((id) => isGood(ownOf(outcomes, id)?.status))
  const last = done.findLast((id) => (flow.outgoing.get(id) ?? []).length === 0) ?? done.at(-1)
  const walked = beginWalk(last ?? nodes[0] ?? '', context).state
  const merging = [...done, ...(last === undefined ? [] : [last])]
  return {
    status,
    reason,
    state: { ...walked, outcomes, completed, steps: completed.length, context: merged(context, merging, outcomes) },
    last: last === undefined ? undefined : ownOf(outcomes, last),
  }
}

function merged(
  context: Context,
  ids: readonly string[],
  outcomes: DataflowState['outcomes'],
): Record<string, unknown> {
  // Object.fromEntries takes a key such as __proto__ as any other.
  const updates = ids.flatMap((id) => Object.entries(ownOf(outcomes, id)?.context_updates ?? {}))
  return { ...context, ...Object.fromEntries(updates) }
}
