/**
 * The walk through a pipeline, as a pure function: from a state and the outcome of the node that was executed, the next state and what to do
 * (docs/pipelines.md, A run). A state is plain JSON and is the checkpoint. Nothing here waits, writes or asks.
 */
import type { Flow } from '../check/flow.ts'
import { joinOf } from '../check/join.ts'
import { type Attributes, integerOf, isOn, type PipelineEdge, textOf } from '../language/graph.ts'
import { failed, isGood, type Outcome, ownOf } from './outcome.ts'
import { selectEdge } from './select-edge.ts'

export interface WalkState {
  /** The node that is to be executed, or is being executed. */
  at: string
  /** The edge that led there; null at the start and after a jump. */
  via: number | null
  /** Executions until now. */
  steps: number
  visits: Record<string, number>
  /** In their order, with repetitions. */
  completed: string[]
  /** The last outcome of each node that counts: a jump back takes away those of the nodes it goes back over. */
  outcomes: Record<string, Outcome>
  context: Record<string, unknown>
  /** What conditions are asked about: the outcome of the last node that did something. Null at the start. */
  last: { id: string; outcome: Outcome /** Left over a plain edge, though it failed. */; isPassedOver: boolean } | null
  redirects: number
  restarts: number
  passed_over: { node_id: string; reason: string }[]
}

export type Step =
  | {
      kind: 'run'
      state: WalkState
      edge: PipelineEdge | undefined
      why: 'start' | 'edge' | 'join' | 'restart' | 'retry_target' | 'gate'
    }
  | { kind: 'end'; state: WalkState; status: 'success' | 'fail'; reason: string | undefined; gate?: string }

/** Of a branch: gates are looked at by the walk around it. */
export interface Bounds {
  /** The parallel nodes around it: a branch that leads back to one fails. */
  within: readonly string[]
  /** Where their branches meet: it ends before. */
  stopBefore: readonly string[]
}

export const REDIRECTS_MAX = 50
export const VISITS_MAX = 1_000

export function beginWalk(at: string, context: Readonly<Record<string, unknown>>): Step {
  const state: WalkState = {
    at,
    via: null,
    steps: 0,
    visits: {},
    completed: [],
    outcomes: {},
    context: structuredClone(context) as Record<string, unknown>,
    last: null,
    redirects: 0,
    restarts: 0,
    passed_over: [],
  }
  return { kind: 'run', state, edge: undefined, why: 'start' }
}

/** `outcome` is that of the node at `state.at`, after its retries. `state` is not changed. */
export function nextStep(flow: Flow, before: WalkState, outcome: Outcome, bounds?: Bounds): Step {
  const id = before.at
  const state = recorded(flow, before, outcome)
  const last = (state.last as NonNullable<WalkState['last']>).outcome
  if (flow.handlers.get(id) === 'exit') return end(state, 'success')
  const selected = selectEdge(flow, id, last, state.context)
  if (flow.handlers.get(id) === 'parallel' && selected?.isConditional !== true)
    return afterBranches(flow, state, last, bounds)
  if (selected === undefined) return withoutEdge(flow, state, last, bounds)
  const { edge, isConditional } = selected
  if (state.last !== null && last.status === 'fail' && !isConditional) {
    state.last = { ...state.last, isPassedOver: true }
  }
  if (isOn(edge.attributes, 'loop_restart')) return restarted(flow, state, edge, bounds)
  return entered(flow, { ...state, at: edge.to, via: flow.graph.edges.indexOf(edge) }, edge, 'edge', bounds)
}

/** Its plain edges are the branches: the walk goes on where they meet, also after a failure that leads nowhere else. */
function afterBranches(flow: Flow, state: WalkState, last: Outcome, bounds?: Bounds): Step {
  const join = joinOf(flow, state.at)
  const hasJump = jumpOf(flow, flow.graph.nodes.get(state.at)?.attributes) !== undefined
  if (join === undefined || (last.status === 'fail' && hasJump)) return withoutEdge(flow, state, last, bounds)
  if (state.last !== null && last.status === 'fail') state.last = { ...state.last, isPassedOver: true }
  return entered(flow, { ...state, at: join, via: null }, undefined, 'join', bounds)
}

function recorded(flow: Flow, before: WalkState, outcome: Outcome): WalkState {
  const id = before.at
  const state: WalkState = {
    ...before,
    steps: before.steps + 1,
    visits: { ...before.visits, [id]: (ownOf(before.visits, id) ?? 0) + 1 },
    completed: [...before.completed, id],
    outcomes: { ...before.outcomes, [id]: outcome },
    context: { ...before.context, ...outcome.context_updates, current_node: id },
    passed_over: before.passed_over,
  }
  // A diamond decides by its edges alone: what they ask about is the node before it. The exit does nothing.
  if (isTransparent(flow, id) && before.last !== null) return state
  if (before.last?.isPassedOver === true && before.last.id !== id)
    state.passed_over = [...before.passed_over, { node_id: before.last.id, reason: reasonOf(before.last.outcome) }]
  state.context['outcome'] = outcome.status
  if (outcome.preferred_label !== undefined) state.context['preferred_label'] = outcome.preferred_label
  state.last = { id, outcome, isPassedOver: false }
  return state
}

function isTransparent(flow: Flow, id: string): boolean {
  return flow.handlers.get(id) === 'conditional' || flow.handlers.get(id) === 'exit'
}

function reasonOf({ failure_reason: reason, notes }: Outcome): string {
  return reason ?? notes ?? 'It failed.'
}

function end(state: WalkState, status: 'success' | 'fail', reason?: string, gate?: string): Step {
  return { kind: 'end', state, status, reason, ...(gate === undefined ? {} : { gate }) }
}

function withoutEdge(flow: Flow, state: WalkState, last: Outcome, bounds: Bounds | undefined): Step {
  const id = state.at
  if (last.status === 'fail') {
    const target = jumpOf(flow, flow.graph.nodes.get(id)?.attributes)
    if (target !== undefined) return jumped(flow, state, target, 'retry_target', bounds)
    return end(state, 'fail', reasonOf(last))
  }
  if ((flow.outgoing.get(id) ?? []).length === 0) return end(state, 'success')
  const label = last.preferred_label === undefined ? '' : `, preferred_label=${last.preferred_label}`
  return end(state, 'fail', `No edge of "${id}" fits: outcome=${last.status}${label}.`)
}

function jumpOf(flow: Flow, attributes: Attributes | undefined): string | undefined {
  if (attributes === undefined) return undefined
  return ['retry_target', 'fallback_retry_target']
    .map((name) => textOf(attributes, name))
    .find((target) => target !== undefined && flow.graph.nodes.has(target))
}

/** Outcomes from the last time that the target was executed count no longer. */
function jumped(
  flow: Flow,
  state: WalkState,
  target: string,
  why: 'retry_target' | 'gate',
  bounds: Bounds | undefined,
): Step {
  const most = integerOf(flow.graph.attributes, 'max_goal_gate_redirects') ?? REDIRECTS_MAX
  if (state.redirects >= most) return end(state, 'fail', `The run jumped back ${most} times, which is the limit.`)
  const from = state.completed.lastIndexOf(target)
  const over = new Set(from === -1 ? [] : state.completed.slice(from))
  const outcomes = Object.fromEntries(Object.entries(state.outcomes).filter(([id]) => !over.has(id)))
  return entered(
    flow,
    { ...state, outcomes, at: target, via: null, redirects: state.redirects + 1 },
    undefined,
    why,
    bounds,
  )
}

/** The context stays; what was done counts no longer. */
function restarted(flow: Flow, state: WalkState, edge: PipelineEdge, bounds: Bounds | undefined): Step {
  const restarts = state.restarts + 1
  const context = { ...state.context, 'internal.loop_restart_count': restarts }
  const fresh = {
    ...state,
    at: edge.to,
    via: flow.graph.edges.indexOf(edge),
    restarts,
    context,
    completed: [],
    outcomes: {},
    last: null,
  }
  return entered(flow, fresh, edge, 'restart', bounds)
}

function entered(
  flow: Flow,
  state: WalkState,
  edge: PipelineEdge | undefined,
  why: Extract<Step, { kind: 'run' }>['why'],
  bounds: Bounds | undefined,
): Step {
  const id = state.at
  const isExit = flow.handlers.get(id) === 'exit'
  if (bounds?.within.includes(id) === true) return end(state, 'fail', `The branch leads back to "${id}".`)
  if (bounds !== undefined && (isExit || bounds.stopBefore.includes(id)))
    return end(state, isGood(state.last?.outcome.status) ? 'success' : 'fail', branchReason(state))
  const limit = limitReached(flow, state)
  if (limit !== undefined) return end(state, 'fail', limit)
  if (isExit) {
    const gate = openGate(flow, state)
    if (gate !== undefined) {
      const target = jumpOf(flow, flow.graph.nodes.get(gate)?.attributes) ?? jumpOf(flow, flow.graph.attributes)
      if (target !== undefined) return jumped(flow, state, target, 'gate', bounds)
      return end(
        state,
        'fail',
        `The goal gate "${gate}" is not satisfied: ${reasonOf(ownOf(state.outcomes, gate) ?? failed(''))}`,
        gate,
      )
    }
    // No silent green: the exit was reached only because a failure was not looked at.
    if (state.last?.isPassedOver === true)
      return end(state, 'fail', `"${state.last.id}" failed: ${reasonOf(state.last.outcome)}`)
  }
  return { kind: 'run', state, edge, why }
}

function branchReason(state: WalkState): string | undefined {
  const last = state.last?.outcome
  return last === undefined || isGood(last.status) ? undefined : reasonOf(last)
}

/** The first one that was visited and whose last outcome is not good. */
function openGate(flow: Flow, state: WalkState): string | undefined {
  return [...new Set(state.completed)].find((id) => {
    const node = flow.graph.nodes.get(id)
    const outcome = ownOf(state.outcomes, id)
    return node !== undefined && outcome !== undefined && isOn(node.attributes, 'goal_gate') && !isGood(outcome.status)
  })
}

/** Limits of executions, so that no cycle runs for ever. */
function limitReached(flow: Flow, state: WalkState): string | undefined {
  const { graph } = flow
  const steps = integerOf(graph.attributes, 'max_steps') ?? 0
  if (steps > 0 && state.steps >= steps) return `max_steps is ${steps}.`
  if (state.steps >= VISITS_MAX) return `A run executes at most ${VISITS_MAX} nodes.`
  const own = integerOf(graph.nodes.get(state.at)?.attributes ?? new Map(), 'max_visits')
  const most = own ?? integerOf(graph.attributes, 'max_visits') ?? 0
  if (most > 0 && (ownOf(state.visits, state.at) ?? 0) >= most)
    return `"${state.at}" was visited ${most} times, which is its limit.`
  return undefined
}
