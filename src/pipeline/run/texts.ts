/** Values of variables, and what a session is told of the nodes before it (docs/pipelines.md, Variables; Models). Pure. */

import { type Outcome, ownOf } from '../engine/outcome.ts'
import { textIn } from '../engine/select-edge.ts'
import { type PipelineNode, textOf } from '../language/graph.ts'
import { expand } from '../language/variables.ts'
import { branchesBefore } from '../walks/fan-in.ts'
import { outputOf } from '../walks/scopes.ts'
import type { Execution } from '../walks/walk.ts'

export function expanded(text: string, { state }: Pick<Execution, 'state'>): string {
  const { context } = state
  return expand(text, (key) => {
    if (key === 'goal') return textIn(context, 'goal') ?? textIn(context, 'graph.goal')
    if (key === 'context') return textIn(context, 'last_response')
    if (key === 'iteration' || key === 'loop_count') return textIn(context, key) ?? String(state.restarts)
    return textIn(context, key)
  })
}

/** Of a node, with variables; undefined where it is empty. */
export function attributeOf(execution: Execution, name: string): string | undefined {
  const written = textOf(execution.node.attributes, name)
  return written === undefined || written.trim() === '' ? undefined : expanded(written, execution)
}

export function labelOf(node: PipelineNode): string {
  return textOf(node.attributes, 'label')?.replaceAll('\\n', ' ').trim() || node.id
}

export const FIDELITIES = ['full', 'truncate', 'compact', 'summary:low', 'summary:medium', 'summary:high'] as const

export type Fidelity = (typeof FIDELITIES)[number]

export function fidelityOf({ scope, node, edge }: Execution): Fidelity {
  const named = [edge?.attributes, node.attributes]
    .map((attributes) => (attributes === undefined ? undefined : textOf(attributes, 'fidelity')))
    .concat(textOf(scope.flow.graph.attributes, 'default_fidelity'))
  return FIDELITIES.find((one) => named.find((name) => name !== undefined && name !== '') === one) ?? 'compact'
}

/** Of a branch or a child it is another one than of the same name elsewhere. */
export function threadOf({ scope, node, edge, state }: Execution): string {
  const { flow, id } = scope
  const named =
    textOf(node.attributes, 'thread_id') ??
    (edge === undefined ? undefined : textOf(edge.attributes, 'thread_id')) ??
    textOf(flow.graph.attributes, 'default_thread_id') ??
    node.classes[0] ??
    state.last?.id ??
    node.id
  return `${id}#${named}`
}

/** About four characters a token. */
const BUDGETS: Readonly<Record<string, number>> = {
  compact: 3_000,
  'summary:low': 2_400,
  'summary:medium': 6_000,
  'summary:high': 12_000,
}
const NODE_CHARS: Readonly<Record<string, number>> = { compact: 160, 'summary:low': 160 }

/** Without times: a run that goes on has to say the same again. */
export function preambleOf(execution: Execution, fidelity: Fidelity): string {
  const { scope, state, inputs } = execution
  const { attributes } = scope.flow.graph
  const goal = textIn(state.context, 'goal') ?? textOf(attributes, 'goal') ?? ''
  const parts = goal === '' ? [] : [`The goal of the pipeline: ${goal}`]
  if (inputs.length > 0)
    parts.push(
      ...inputs.map(({ node, output }) => `What "${labelOf(node)}" gave:\n${output.slice(0, INPUT_MAX_CHARS)}`),
    )
  const budget = BUDGETS[fidelity]
  const completed = [...(scope.before?.completed ?? []), ...state.completed]
  const outcomes = { ...scope.before?.outcomes, ...state.outcomes }
  if (budget !== undefined && completed.length > 0) {
    const each = NODE_CHARS[fidelity] ?? budget / 4
    const lines: string[] = []
    let left = budget
    for (const id of [...new Set(completed)].toReversed()) {
      const outcome = ownOf(outcomes, id)
      if (outcome === undefined || scope.flow.handlers.get(id) === 'start') continue
      const line = lineOf(id, outcome, each)
      if (line.length > left) break
      left -= line.length
      lines.unshift(line)
    }
    if (lines.length > 0) parts.push(`What was done before:\n${lines.join('\n')}`)
  }
  const branches = fidelity === 'truncate' ? undefined : branchesBefore(execution)
  if (branches !== undefined) parts.push(branches.slice(0, INPUT_MAX_CHARS))
  return parts.join('\n\n')
}

const INPUT_MAX_CHARS = 20_000

function lineOf(id: string, outcome: Outcome, most: number): string {
  const { status, notes, failure_reason: reason } = outcome
  const said = [reason ?? notes, outputOf(outcome)].filter((one) => one !== undefined && one !== '').join('; ')
  const text = said.replaceAll(/\s+/g, ' ')
  return `- ${id}: ${status}${text === '' ? '' : ` (${text.length > most ? `${text.slice(0, most)}…` : text})`}`
}
