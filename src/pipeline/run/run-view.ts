/** What people see of a run while it goes on: `nodes` and `edges` of the state, and events (docs/decisions/0034, Contract). */

import { isObject } from '../../core/primitives/is-object.ts'
import type { Context } from '../../sdk/index.ts'
import type { BranchResult } from '../engine/branches.ts'
import type { Outcome } from '../engine/outcome.ts'
import type { Step } from '../engine/walk.ts'
import type { Handler } from '../language/handlers.ts'
import type { OutcomeLine } from '../walks/outcome-log.ts'
import type { Done, Execution, Scope } from '../walks/walk.ts'
import { labelOf } from './texts.ts'

/** What a run of a pipeline uses of the instance. */
export type PipelineContext = Pick<
  Context,
  | 'config'
  | 'signal'
  | 'sessions'
  | 'workingDirectory'
  | 'data'
  | 'emit'
  | 'progress'
  | 'mergeState'
  | 'requestInput'
  | 'sandbox'
  | 'log'
  | 'state'
>

type NodeStatus = 'pending' | 'running' | 'waiting' | 'completed' | 'failed' | 'skipped'

interface NodeView {
  status: NodeStatus
  label: string
  handler: Handler | undefined
  visits: number
  attempts: number
  started_at?: string
  duration_ms?: number
  cost_usd?: number
  sessions?: string[]
  dirs?: string[]
  reason?: string
}

interface EdgeView {
  from: string
  to: string
  taken: number
}

const WRITE_EVERY_MS = 200
const KEPT = 10
const REASON_MAX_CHARS = 500
const KEPT_OF_NODES = [
  'label',
  'handler',
  'attempts',
  'started_at',
  'duration_ms',
  'cost_usd',
  'sessions',
  'dirs',
] as const

const STATUS_OF: Readonly<Record<Outcome['status'], NodeStatus>> = {
  success: 'completed',
  partial_success: 'completed',
  skipped: 'skipped',
  retry: 'failed',
  fail: 'failed',
}

export class RunView {
  readonly #ctx: PipelineContext
  readonly #pipeline: string
  readonly #nodes = new Map<string, NodeView>()
  readonly #edges = new Map<string, EdgeView>()
  /** How often an edge was taken in the steps that were read. */
  readonly #read = new Map<string, number>()
  readonly #active = new Set<string>()
  #iteration = 0
  #executions = 0
  readonly #added = new Set<string>()
  /** How long earlier processes ran. */
  elapsedBefore = 0
  readonly #begun = performance.now()
  #timer: NodeJS.Timeout | undefined

  constructor(ctx: PipelineContext, pipeline: string) {
    this.#ctx = ctx
    this.#pipeline = pipeline
  }

  /** The nodes of a pipeline that is about to run: of the run itself, or of a child. */
  add({ flow, id }: Scope): void {
    this.#added.add(keyOf(id, ''))
    for (const node of flow.graph.nodes.values()) {
      const key = keyOf(id, node.id)
      if (this.#nodes.has(key)) continue
      this.#nodes.set(key, {
        status: 'pending',
        label: labelOf(node),
        handler: flow.handlers.get(node.id),
        visits: 0,
        attempts: 0,
      })
    }
    this.#soon()
  }

  /** The number of the execution, from 1. */
  begin(execution: Execution, dir: string): number {
    const { scope, node } = execution
    const view = this.#of(execution)
    this.#executions += 1
    view.status = 'running'
    view.started_at = new Date().toISOString()
    view.attempts = 0
    if (dir !== '') view.dirs = [...(view.dirs ?? []).filter((one) => one !== dir), dir].slice(-KEPT)
    delete view.reason
    this.#active.add(keyOf(scope.id, node.id))
    this.#soon()
    this.emit(execution, 'node_start', { handler: view.handler, execution_index: this.#executions, dir })
    return this.#executions
  }

  attempt(execution: Execution): void {
    this.#of(execution).attempts += 1
  }

  /** At once: a person is to see what is asked, and where. */
  waiting(execution: Execution, isWaiting: boolean): void {
    this.#of(execution).status = isWaiting ? 'waiting' : 'running'
    this.write()
  }

  session(execution: Execution, id: string): void {
    const view = this.#of(execution)
    view.sessions = [...(view.sessions ?? []).filter((one) => one !== id), id].slice(-KEPT)
    this.#soon()
  }

  cost(execution: Execution, usd: number | null): void {
    if (usd === null) return
    const view = this.#of(execution)
    view.cost_usd = (view.cost_usd ?? 0) + usd
  }

  /** It was ended before it had an outcome: other branches decided, or the time of a node around it is over. */
  cut(execution: Execution): void {
    const { scope, node } = execution
    this.#active.delete(keyOf(scope.id, node.id))
    Object.assign(this.#of(execution), { status: 'skipped', reason: 'It was ended before it was done.' })
    this.#soon()
  }

  end(execution: Execution, outcome: Outcome, durationMs: number): void {
    const { scope, node } = execution
    const view = this.#of(execution)
    view.duration_ms = Math.round(durationMs)
    this.#active.delete(keyOf(scope.id, node.id))
    this.#settle(view, outcome)
  }

  /** After an outcome that was written down, or read by a run that goes on. */
  step(scope: Scope, { node, isRead }: Done, next: Step | undefined): void {
    const { id: nodeId } = node
    const view = this.#of({ scope, node })
    if (!isRead) view.visits += 1
    if (!isRead) this.#ctx.emit('checkpoint', { node_id: keyOf(scope.id, nodeId) })
    if (next?.kind !== 'run') return
    if (scope.id === '') this.#iteration = next.state.restarts
    const { edge, why } = next
    const [from, to] = [keyOf(scope.id, edge?.from ?? nodeId), keyOf(scope.id, next.state.at)]
    const way = `${from}\0${to}`
    const known = this.#edges.get(way) ?? { from, to, taken: 0 }
    this.#edges.set(way, known)
    const read = (this.#read.get(way) ?? 0) + 1
    this.#read.set(way, read)
    // The state of the last process may lack its last steps; the log lacks none, but is not read within what had ended.
    known.taken = isRead ? Math.max(known.taken, read) : known.taken + 1
    this.#soon()
    if (isRead) return
    const label = edge?.attributes.get('label')?.text
    if (why === 'gate') this.#ctx.emit('goal_gate_check', { node_id: from, target: to })
    this.#ctx.emit('edge_selected', { from, to, why, ...(label === undefined ? {} : { label }) })
  }

  /** What the last process did: what ended by the log, how it went by the state that it left. */
  restore(state: Record<string, unknown>, ended: readonly OutcomeLine[]): void {
    for (const { scope, node, outcome } of ended) {
      const view = this.#viewOf(keyOf(scope, node), node)
      view.visits += 1
      this.#settle(view, outcome)
    }
    const { nodes, edges, elapsed_ms: elapsed } = state
    if (typeof elapsed === 'number') this.elapsedBefore = elapsed
    for (const [key, view] of this.#nodes) {
      const before = isObject(nodes) && Object.hasOwn(nodes, key) ? (nodes[key] as Partial<NodeView>) : {}
      for (const name of KEPT_OF_NODES) if (before[name] !== undefined) Object.assign(view, { [name]: before[name] })
    }
    for (const { from, to, taken } of Array.isArray(edges) ? (edges as EdgeView[]) : [])
      this.#edges.set(`${from}\0${to}`, { from, to, taken })
  }

  branch(execution: Execution, branch: string, result: BranchResult | undefined): void {
    if (result === undefined) this.emit(execution, 'parallel_branch_started', { branch })
    else {
      const { status, failure_reason: reason } = result
      const why = reason === undefined ? {} : { failure_reason: reason }
      this.emit(execution, 'parallel_branch_completed', { branch, status, ...why })
    }
  }

  emit({ scope, node }: Pick<Execution, 'scope' | 'node'>, name: string, data: Record<string, unknown> = {}): void {
    const isBranch = scope.bounds !== undefined
    this.#ctx.emit(name, {
      node_id: keyOf(scope.id, node.id),
      ...data,
      ...(isBranch ? { via_parallel: true } : {}),
    })
  }

  costOf(execution: Execution): number | undefined {
    return this.#of(execution).cost_usd
  }

  sessionsOf(execution: Execution): string[] | undefined {
    return this.#of(execution).sessions
  }

  write(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#ctx.mergeState({
      pipeline: this.#pipeline,
      active_node: [...this.#active].at(-1) ?? null,
      nodes: Object.fromEntries(this.#nodes),
      edges: [...this.#edges.values()],
      iteration: this.#iteration,
      elapsed_ms: Math.round(this.elapsedBefore + performance.now() - this.#begun),
    })
  }

  #settle(view: NodeView, outcome: Outcome): void {
    view.status = STATUS_OF[outcome.status]
    const reason = outcome.failure_reason ?? (outcome.status === 'skipped' ? outcome.notes : undefined)
    if (reason !== undefined) view.reason = reason.slice(0, REASON_MAX_CHARS)
    this.#soon()
  }

  #of({ scope, node }: Pick<Execution, 'scope' | 'node'>): NodeView {
    // A child's nodes are shown when it begins.
    if (!this.#added.has(keyOf(scope.id, ''))) this.add(scope)
    const view = this.#viewOf(keyOf(scope.id, node.id), labelOf(node))
    view.handler ??= scope.flow.handlers.get(node.id)
    return view
  }

  #viewOf(key: string, label: string): NodeView {
    const known = this.#nodes.get(key)
    if (known !== undefined) return known
    const view: NodeView = { status: 'pending', label, handler: undefined, visits: 0, attempts: 0 }
    this.#nodes.set(key, view)
    return view
  }

  #soon(): void {
    this.#timer ??= setTimeout(() => this.write(), WRITE_EVERY_MS)
  }
}

/** A branch is part of its pipeline; a child is told by the node that runs it: `parent/child`. */
export function keyOf(scope: string, nodeId: string): string {
  const parents = scope
    .split('/')
    .filter((one) => one.endsWith('.'))
    .map((one) => decodeURIComponent(one.slice(0, one.indexOf('@'))))
  return [...parents, nodeId].join('/')
}
