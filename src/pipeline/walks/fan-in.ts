/** The handler `parallel.fan_in`: the best of the results of branches; with a prompt, a model says which one it is, or makes one of them. */
import { type BranchResult, fanInOutcome } from '../engine/branches.ts'
import { isGood, type Outcome, STATUSES } from '../engine/outcome.ts'
import { textOf } from '../language/graph.ts'
import type { Execution } from './walk.ts'

const BEST = 'parallel.fan_in.best_id'

/** `ask` runs the node as a session with the given prompt, whose variables are filled in. */
export async function runFanIn(execution: Execution, ask: (prompt: string) => Promise<Outcome>): Promise<Outcome> {
  const results = resultsIn(execution.state.context['parallel.results'])
  const ranked = fanInOutcome(results)
  const prompt = textOf(execution.node.attributes, 'prompt')?.trim() ?? ''
  if (prompt === '' || ranked.status === 'fail') return ranked
  const how = `If one of them is to be chosen, end with {"outcome": "success", "context_updates": {"${BEST}": "<its id>"}}.`
  const said = await ask(`${prompt}\n\n${shown(results)}\n\n${how}`)
  if (!isGood(said.status)) return said
  const named = results.find(({ node_id: id, status }) => id === said.context_updates?.[BEST] && isGood(status))
  const chosen = named === undefined ? {} : { [BEST]: named.node_id, 'parallel.fan_in.best_outcome': named.status }
  return { ...said, context_updates: { ...said.context_updates, ...ranked.context_updates, ...chosen } }
}

/** For the node at which branches met, and for the one after their fan-in; undefined elsewhere. */
export function branchesBefore({ scope, state, why }: Execution): string | undefined {
  const isAfter = why === 'join' || scope.flow.handlers.get(state.last?.id ?? '') === 'parallel.fan_in'
  const results = isAfter ? resultsIn(state.context['parallel.results']) : []
  return results.length === 0 ? undefined : shown(results)
}

function shown(results: readonly BranchResult[]): string {
  const parts = results.map(({ node_id: id, status, notes, failure_reason: reason, response }) =>
    [`## ${id} (${status})`, notes, reason, response].filter((text) => text !== undefined && text !== '').join('\n\n'),
  )
  return `# Results of the branches\n\n${parts.join('\n\n')}`
}

/** A model may have written into the context. */
function resultsIn(value: unknown): BranchResult[] {
  if (!Array.isArray(value)) return []
  return value.filter((one): one is BranchResult => {
    const { node_id: id, status } = (one ?? {}) as Partial<BranchResult>
    return typeof id === 'string' && (STATUSES as readonly unknown[]).includes(status)
  })
}
