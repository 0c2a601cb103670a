/** The handler `pipeline`: another pipeline as one step, with a context of its own, of which `outputs` come back. */
import { checkPipeline } from '../check/check.ts'
import { childFile, childPathOf, FAMILY_DEPTH_MAX } from '../check/family.ts'
import type { Flow } from '../check/flow.ts'
import { listOf } from '../check/rules.ts'
import { failed, isGood, type Outcome } from '../engine/outcome.ts'
import { valueIn } from '../engine/select-edge.ts'
import { textOf } from '../language/graph.ts'
import { runDataflow } from './dataflow.ts'
import { childScope } from './scopes.ts'
import { type Ended, type Execution, type Scope, type Walks, walk } from './walk.ts'

export interface Child {
  scope: Scope
  context: Record<string, unknown>
}

export async function runChild(walks: Walks, execution: Execution): Promise<Outcome> {
  const child = await childOf(walks, execution)
  if ('status' in child) return child
  return childOutcome(execution, await runFlow(walks, child.scope, child.context, execution.signal))
}

/** A whole pipeline, in its mode: of the run itself, and of a child. */
export async function runFlow(
  walks: Walks,
  scope: Scope,
  context: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<Ended> {
  if (scope.flow.mode === 'dataflow') return await runDataflow(walks, scope, context, signal)
  return await walk(walks, scope, { at: scope.flow.starts[0] as string, context }, signal)
}

/** What the node runs; the outcome of the node where it can't. */
export async function childOf(walks: Walks, execution: Execution): Promise<Child | Outcome> {
  const { scope, node, state } = execution
  const written = childPathOf(scope.flow, node)
  if (written === undefined) return failed(`"${node.id}" names no pipeline.`)
  if (scope.depth >= FAMILY_DEPTH_MAX) return failed(`Pipelines run at most ${FAMILY_DEPTH_MAX} deep.`)
  const file = childFile(scope.file, walks.expand(execution, written))
  const source = await walks.readPipeline(file)
  if (source === undefined) return failed(`There is no pipeline "${file}".`)
  const { flow, diagnostics, isRunnable } = checkPipeline(source)
  if (!isRunnable) {
    const { line, message } = diagnostics.find(({ severity }) => severity === 'error') ?? { message: 'It is faulty.' }
    return failed(`${file}${line === undefined ? '' : `:${line}`}: ${message}`)
  }
  const own: Scope = { id: childScope(scope, state), flow, file, depth: scope.depth + 1, bounds: undefined }
  return { scope: own, context: contextOf(walks, execution, flow) }
}

/** That of the parent, with the node's `context.*`, and the child's own goal. */
function contextOf(walks: Walks, execution: Execution, { graph }: Flow): Record<string, unknown> {
  const { node, state } = execution
  const context = structuredClone(state.context)
  // Of the node before: in the child, nothing has happened yet.
  for (const key of ['preferred_label', 'outcome']) delete context[key]
  for (const [name, { text }] of node.attributes) {
    if (!name.startsWith('context.')) continue
    delete context[name]
    context[name.slice('context.'.length)] = walks.expand(execution, text)
  }
  const goal = textOf(graph.attributes, 'goal')
  if (goal !== undefined) {
    const inChild: Execution = { ...execution, state: { ...state, context } }
    const own = walks.expand(inChild, goal)
    Object.assign(context, { goal: own, 'graph.goal': own })
  }
  return context
}

/** That of its last node; `outputs` come back where it ended well. */
export function childOutcome({ node }: Execution, { status, reason, state, last }: Ended): Outcome {
  const label = last?.preferred_label === undefined ? {} : { preferred_label: last.preferred_label }
  if (status === 'fail') return { ...failed(reason ?? 'The child failed.'), ...label }
  const updates: Record<string, unknown> = {}
  for (const key of listOf(textOf(node.attributes, 'outputs') ?? '')) {
    const value = valueIn(state.context, key)
    if (value !== undefined) updates[key] = value
  }
  const outcome: Outcome = { status: last !== undefined && isGood(last.status) ? last.status : 'success', ...label }
  if (last?.notes !== undefined) outcome.notes = last.notes
  if (last?.output !== undefined) outcome.output = last.output
  if (Object.keys(updates).length > 0) outcome.context_updates = updates
  return outcome
}
