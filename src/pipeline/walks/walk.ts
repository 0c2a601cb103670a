/**
 * Walks through a pipeline: executes a node, writes its outcome down, and goes on as the engine decides. The run itself, each branch of a parallel node
 * and each child pipeline is a walk of its own; one that goes on begins after its last line.
 */
import type { Flow } from '../check/flow.ts'
import type { BranchResult } from '../engine/branches.ts'
import type { Outcome } from '../engine/outcome.ts'
import { type Bounds, beginWalk, nextStep, type Step, VISITS_MAX, type WalkState } from '../engine/walk.ts'
import type { PipelineEdge, PipelineNode } from '../language/graph.ts'
import type { OutcomeLog } from './outcome-log.ts'

/** What a walk belongs to. */
export interface Scope {
  /** Names it in the log: empty for the run, `fan@3.b` for the branch at `b` of the node `fan`, which was execution 3 of its walk. */
  id: string
  flow: Flow
  /** The file of the pipeline, relative to the root of all files. */
  file: string
  /** How many pipelines run in each other here; 1 for the run. */
  depth: number
  /** Of a branch. */
  bounds: Bounds | undefined
  /** Of a branch: what the walks around it had done. */
  before?: Pick<WalkState, 'completed' | 'outcomes'>
}

/** One execution of a node, before it. */
export interface Execution {
  scope: Scope
  node: PipelineNode
  /** Its context is that of this walk alone. */
  state: WalkState
  edge: PipelineEdge | undefined
  why: Extract<Step, { kind: 'run' }>['why'] | 'dataflow'
  /** In dataflow mode: what the nodes before it gave. */
  inputs: readonly { node: PipelineNode; output: string }[]
  /** Aborted by a stop, by the timeout of a node around it, and where the other branches have decided. */
  signal: AbortSignal
}

/** A node that ended. `next` of `onStep` is undefined in dataflow mode. */
export interface Done {
  node: PipelineNode
  outcome: Outcome
  isRead: boolean
}

/** What all walks of a run share. */
export interface Walks {
  log: OutcomeLog
  /** Executes the node with its retries. Rejects only where the run can't go on: by the signal, or a fault of the machine. */
  execute(execution: Execution): Promise<Outcome>
  /** After each outcome that was written down, and for each one that a run going on has read. */
  onStep?(scope: Scope, done: Done, next: Step | undefined): void
  /** Of the branches of a parallel node that begin to be executed; a branch that ended before a pause is not told again. */
  onBranch?(execution: Execution, branch: string, result: BranchResult | undefined): void
  /** The text with the variables of the execution filled in. */
  expand(execution: Execution, text: string): string
  /** The source of a child pipeline, by its path as {@link Scope.file} has it; undefined where there is none. */
  readPipeline(path: string): Promise<string | undefined>
}

export interface Ended {
  status: 'success' | 'fail'
  reason: string | undefined
  state: WalkState
  /** The last outcome that decided something: not of the exit. */
  last: Outcome | undefined
}

/** Where a walk stands. */
export interface Standing {
  step: Step
  /** The place of its last line in the log; undefined where nothing was written down. */
  readAt: number | undefined
}

/** How many nodes a run executes, with all branches and children. */
export const EXECUTIONS_MAX = VISITS_MAX
export const TOO_MANY = `A run executes at most ${EXECUTIONS_MAX} nodes, with its branches and children.`

/** What took less is executed again after a loss of power: waiting for the disk would take as long. */
const DURABLE_FROM_MS = 100

export interface Begin {
  at: string
  context: Readonly<Record<string, unknown>>
}

export async function walk(walks: Walks, scope: Scope, begin: Begin, signal: AbortSignal): Promise<Ended> {
  return await walkOn(walks, scope, standingOf(walks, scope, begin), signal)
}

/** At its begin, or after what the log has of it. */
export function standingOf({ log, onStep }: Walks, scope: Scope, begin: Begin): Standing {
  const { flow, bounds } = scope
  const lines = log.of(scope.id)
  let step = beginWalk(begin.at, begin.context)
  for (const { node: id, outcome } of lines) {
    const node = flow.graph.nodes.get(id)
    if (step.kind !== 'run' || step.state.at !== id || node === undefined) {
      const reason = 'What was done before is of another pipeline.'
      step = { kind: 'end', state: step.state, status: 'fail', reason }
      break
    }
    step = nextStep(flow, step.state, outcome, bounds)
    onStep?.(scope, { node, outcome, isRead: true }, step)
  }
  return { step, readAt: lines.at(-1)?.place }
}

export async function walkOn(walks: Walks, scope: Scope, from: Standing, signal: AbortSignal): Promise<Ended> {
  const { flow, bounds } = scope
  let { step } = from
  while (step.kind === 'run') {
    signal.throwIfAborted()
    const { state, edge, why } = step
    const node = flow.graph.nodes.get(state.at) as PipelineNode
    if (walks.log.size >= EXECUTIONS_MAX) return endedOf({ kind: 'end', state, status: 'fail', reason: TOO_MANY })
    const outcome = await executed(walks, { scope, node, state, edge, why, inputs: [], signal })
    step = nextStep(flow, state, outcome, bounds)
    walks.onStep?.(scope, { node, outcome, isRead: false }, step)
  }
  return endedOf(step)
}

/** Executes one node and writes its outcome down. */
export async function executed(walks: Walks, execution: Execution): Promise<Outcome> {
  const { scope, node, signal } = execution
  const begun = performance.now()
  const outcome = await walks.execute(execution)
  signal.throwIfAborted()
  const isWorthIt = performance.now() - begun >= DURABLE_FROM_MS
  walks.log.append({ scope: scope.id, node: node.id, outcome }, isWorthIt)
  return outcome
}

export function endedOf({ status, reason, state }: Extract<Step, { kind: 'end' }>): Ended {
  return { status, reason, state, last: state.last?.outcome }
}
