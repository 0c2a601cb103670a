/** Chooses the handler of a node, for one attempt (docs/decisions/0034, Contract). */
import { setTimeout as sleep } from 'node:timers/promises'
import { type BranchResult, fanInOutcome } from '../engine/branches.ts'
import { failed, type Outcome } from '../engine/outcome.ts'
import { durationOf, textOf } from '../language/graph.ts'
import { runParallel } from '../walks/parallel.ts'
import type { Execution } from '../walks/walk.ts'
import { runAgent } from './agent.ts'
import { runTool } from './command.ts'
import { runGate } from './gate.ts'
import type { Run } from './run-parts.ts'

/** Rejects where the run can't go on. */
export async function perform(run: Run, execution: Execution, dir: string, attempt: number): Promise<Outcome> {
  const { node, scope, signal } = execution
  const handler = scope.flow.handlers.get(node.id)
  switch (handler) {
    case 'start':
    case 'exit':
    case 'conditional':
      return { status: 'success' }
    case 'codergen':
    case 'prompt':
      return await runAgent(run, execution, dir, attempt)
    case 'tool':
      return await runTool(run, execution, dir)
    case 'wait.human':
      return await runGate(run, execution, dir, attempt)
    case 'wait': {
      const ms = durationOf(textOf(node.attributes, 'duration') ?? '', 1_000) ?? 0
      if (run.options.answers === undefined) await sleep(ms, undefined, { signal })
      return { status: 'success' }
    }
    case 'parallel':
      return await runParallel(run.walks, execution)
    case 'parallel.fan_in':
      return fanInOutcome(execution.state.context['parallel.results'] as readonly BranchResult[] | undefined)
    default:
      return failed(`"${node.id}" has no handler that runs it.`)
  }
}
