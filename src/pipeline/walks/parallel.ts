/** The handler `parallel`: each plain edge is a branch, a walk of its own with a copy of the context, which ends where they meet. */
import { branchesOf, joinOf } from '../check/join.ts'
import { type BranchResult, isDecided, joinedOutcome } from '../engine/branches.ts'
import { failed, isGood, type Outcome } from '../engine/outcome.ts'
import { integerOf } from '../language/graph.ts'
import { branchScope, outputOf } from './scopes.ts'
import { sideBySide } from './side-by-side.ts'
import { type Ended, type Execution, endedOf, type Scope, standingOf, type Walks, walkOn } from './walk.ts'

const MAX_PARALLEL = 4
const RESPONSE_MAX_CHARS = 2_000

export async function runParallel(walks: Walks, execution: Execution): Promise<Outcome> {
  const { scope, node, state, signal } = execution
  const join = joinOf(scope.flow, node.id)
  const starts = branchesOf(scope.flow, node.id)
  if (join === undefined) return failed(`The branches of "${node.id}" do not meet at a node.`)
  const bounds = {
    within: [...(scope.bounds?.within ?? []), node.id],
    stopBefore: [...(scope.bounds?.stopBefore ?? []), join],
  }
  const before = {
    completed: [...(scope.before?.completed ?? []), ...state.completed],
    outcomes: { ...scope.before?.outcomes, ...state.outcomes },
  }
  const branches = starts.map((at) => {
    const own: Scope = { ...scope, id: branchScope(scope, state, at), bounds, before }
    return { at, own, begin: { at, context: state.context } }
  })
  const results = new Map<string, BranchResult>()
  const isEnough = () => isDecided(node, starts.length, [...results.values()])
  // Those that ended before count in the order in which they did, until they decided.
  const read = branches
    .filter(({ own }) => walks.log.of(own.id).length > 0)
    .map((branch) => ({ branch, ...standingOf(walks, branch.own, branch.begin) }))
    .toSorted((one, other) => (one.readAt ?? 0) - (other.readAt ?? 0))
  for (const { branch, step } of read)
    if (step.kind === 'end' && !isEnough()) results.set(branch.at, resultOf(branch.at, endedOf(step)))
  const standings = new Map(read.map(({ branch, step, readAt }) => [branch, { step, readAt }]))
  // A context is copied when its branch begins: there may be many, and it may be large.
  const open = branches.filter((branch) => standings.get(branch)?.step.kind !== 'end')

  await sideBySide({
    most: Math.max(1, integerOf(node.attributes, 'max_parallel') ?? MAX_PARALLEL),
    isDecided: isEnough,
    signal,
    next() {
      const branch = open.shift()
      if (branch === undefined) return undefined
      return {
        run(until) {
          walks.onBranch?.(execution, branch.at, undefined)
          return walkOn(walks, branch.own, standings.get(branch) ?? standingOf(walks, branch.own, branch.begin), until)
        },
        ended(end: Ended) {
          const result = resultOf(branch.at, end)
          results.set(branch.at, result)
          walks.onBranch?.(execution, branch.at, result)
        },
      }
    },
  })
  return joinedOutcome(
    node,
    starts.length,
    starts.flatMap((at) => results.get(at) ?? []),
  )
}

function resultOf(id: string, { status, reason, last }: Ended): BranchResult {
  const result: BranchResult = {
    node_id: id,
    status: isGood(last?.status) && status === 'success' ? (last as Outcome).status : status,
  }
  if (last?.notes !== undefined) result.notes = last.notes
  if (status === 'fail' && reason !== undefined) result.failure_reason = reason
  const score = last?.context_updates?.['score']
  if (typeof score === 'number' && Number.isFinite(score)) result.score = score
  const response = last === undefined ? '' : outputOf(last)
  if (response !== '') result.response = response.slice(0, RESPONSE_MAX_CHARS)
  return result
}
