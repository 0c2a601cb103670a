/** What parallel branches come to together (docs/pipelines.md, Parallel branches). Pure: the caller runs them. */
import { integerOf, type PipelineNode, textOf } from '../language/graph.ts'
import { failed, isGood, type Outcome, type Status } from './outcome.ts'

/** Of one branch; it stands in the context as an item of `parallel.results`. */
export interface BranchResult {
  /** The first node of the branch. */
  node_id: string
  status: Status
  notes?: string
  failure_reason?: string
  score?: number
  /** What its last node answered, cut. */
  response?: string
}

export const POLICIES = ['wait_all', 'first_success', 'k_of_n', 'quorum'] as const

export type Policy = (typeof POLICIES)[number]

export function policyOf(node: PipelineNode): Policy {
  const named = textOf(node.attributes, 'join_policy') ?? ''
  return (POLICIES as readonly string[]).includes(named) ? (named as Policy) : 'wait_all'
}

/** How many branches must succeed for the others to be ended; undefined: all are waited for. */
export function enoughOf(node: PipelineNode, branches: number): number | undefined {
  switch (policyOf(node)) {
    case 'wait_all':
      return undefined
    case 'first_success':
      return 1
    case 'k_of_n':
      return Math.min(branches, Math.max(1, integerOf(node.attributes, 'min_success') ?? 1))
    case 'quorum': {
      const fraction = Number(textOf(node.attributes, 'quorum_fraction') ?? '0.5')
      const part = fraction > 0 && fraction <= 1 ? fraction : 0.5
      return Math.max(1, Math.ceil(branches * part))
    }
  }
}

/** Whether the branches that still run can be ended: enough succeeded, or one failed where none may. */
export function isDecided(node: PipelineNode, branches: number, results: readonly BranchResult[]): boolean {
  if (textOf(node.attributes, 'error_policy') === 'fail_fast' && results.some(({ status }) => !isGood(status)))
    return true
  const enough = enoughOf(node, branches)
  const good = results.filter(({ status }) => isGood(status)).length
  return enough !== undefined && (good >= enough || branches - (results.length - good) < enough)
}

export function joinedOutcome(node: PipelineNode, branches: number, results: readonly BranchResult[]): Outcome {
  const good = results.filter(({ status }) => isGood(status))
  const bad = results.filter(({ status }) => !isGood(status))
  const updates = { 'parallel.results': results.map((one) => ({ ...one })) }
  const told = bad.map(({ node_id: id, failure_reason: reason }) => `${id}: ${reason ?? 'failed'}`).join('; ')
  const enough = enoughOf(node, branches)
  if (enough !== undefined) {
    if (good.length >= enough) return { status: 'success', context_updates: updates }
    const reason = `${good.length} of ${branches} branches succeeded, ${enough} had to${told === '' ? '' : `: ${told}`}`
    return { ...failed(reason), context_updates: updates }
  }
  const policy = textOf(node.attributes, 'error_policy')
  if (bad.length === 0 || policy === 'ignore') return { status: 'success', context_updates: updates }
  if (good.length === 0 || policy === 'fail_fast') return { ...failed(told), context_updates: updates }
  return { status: 'partial_success', notes: told, context_updates: updates }
}

const RANK: Readonly<Record<Status, number>> = { success: 0, partial_success: 1, skipped: 2, retry: 3, fail: 4 }

/** The best branch: by its status, then by its score, then by its name. */
export function bestOf(results: readonly BranchResult[]): BranchResult | undefined {
  return results.toSorted(
    (one, other) =>
      RANK[one.status] - RANK[other.status] ||
      (other.score ?? 0) - (one.score ?? 0) ||
      (one.node_id < other.node_id ? -1 : 1),
  )[0]
}

export function fanInOutcome(results: readonly BranchResult[] | undefined): Outcome {
  const best = bestOf(results ?? [])
  if (best === undefined) return failed('A fan-in needs the results of branches, and there are none.')
  const updates = { 'parallel.fan_in.best_id': best.node_id, 'parallel.fan_in.best_outcome': best.status }
  if ((results ?? []).every(({ status }) => status === 'fail'))
    return { ...failed('All branches failed.'), context_updates: updates }
  return { status: 'success', context_updates: updates }
}
