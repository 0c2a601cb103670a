/** Chooses the handler of a node, for one attempt (docs/decisions/0034, Contract). */
import { setTimeout as sleep } from 'node:timers/promises'
import { branchesOf } from '../check/join.ts'
import type { BranchResult } from '../engine/branches.ts'
import { failed, isGood, type Outcome } from '../engine/outcome.ts'
import { durationOf, textOf } from '../language/graph.ts'
import { runChild } from '../walks/child.ts'
import { runFanIn } from '../walks/fan-in.ts'
import { runManager } from '../walks/manager.ts'
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
      return await withBranches(run, execution)
    case 'parallel.fan_in':
      return await runFanIn(execution, (prompt) => runAgent(run, execution, dir, attempt, prompt))
    case 'pipeline':
    case 'stack.manager_loop':
      return await withChild(run, execution, handler === 'pipeline' ? runChild : runManager)
    case undefined:
      return failed(`"${node.id}" has no handler that runs it.`)
  }
}

async function withBranches({ walks, view }: Run, execution: Execution): Promise<Outcome> {
  const begun = performance.now()
  view.emit(execution, 'parallel_started', { branch_count: branchesOf(execution.scope.flow, execution.node.id).length })
  const outcome = await runParallel(walks, execution)
  const results = outcome.context_updates?.['parallel.results']
  const all = Array.isArray(results) ? (results as BranchResult[]) : []
  const success_count = all.filter(({ status }) => isGood(status)).length
  const duration_ms = Math.round(performance.now() - begun)
  view.emit(execution, 'parallel_completed', { success_count, failure_count: all.length - success_count, duration_ms })
  return outcome
}

async function withChild({ walks, view }: Run, execution: Execution, child: typeof runChild): Promise<Outcome> {
  view.emit(execution, 'subgraph_start')
  const outcome = await child(walks, execution)
  view.emit(execution, 'subgraph_complete', { status: outcome.status })
  return outcome
}
