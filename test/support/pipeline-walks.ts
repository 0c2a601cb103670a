/** Runs pipelines by their walks alone, without a platform: what a node does is a function of the test. */
import { checkPipeline } from '../../src/pipeline/check/check.ts'
import type { Outcome, Status } from '../../src/pipeline/engine/outcome.ts'
import { textIn } from '../../src/pipeline/engine/select-edge.ts'
import { expand } from '../../src/pipeline/language/variables.ts'
import { runChild, runFlow } from '../../src/pipeline/walks/child.ts'
import { runFanIn } from '../../src/pipeline/walks/fan-in.ts'
import { runManager } from '../../src/pipeline/walks/manager.ts'
import { OutcomeLog } from '../../src/pipeline/walks/outcome-log.ts'
import { runParallel } from '../../src/pipeline/walks/parallel.ts'
import type { Execution, Scope, Walks } from '../../src/pipeline/walks/walk.ts'

/** Of nodes that no handler of the walks runs; `prompt` is that of a fan-in. */
export type Does = (execution: Execution, prompt?: string) => Outcome | Promise<Outcome>

export interface Ran {
  status: string
  reason: string | undefined
  last: Outcome | undefined
  context: Record<string, unknown>
  /** `scope:node` of what was executed. */
  executed: string[]
  /** `scope:node` of what ended, with a `<` for what was read from the log. */
  steps: string[]
}

export interface RunOptions {
  /** The log. */
  file: string
  signal?: AbortSignal
  /** Child pipelines by path. */
  children?: Readonly<Record<string, string>>
  context?: Readonly<Record<string, unknown>>
}

export async function runPipeline(source: string, does: Does, options: RunOptions): Promise<Ran> {
  const { flow, diagnostics, isRunnable } = checkPipeline(source)
  if (!isRunnable) throw new Error(JSON.stringify(diagnostics))
  const log = new OutcomeLog(options.file)
  const executed: string[] = []
  const steps: string[] = []
  const walks: Walks = {
    log,
    expand: ({ state }, text) =>
      expand(text, (name) => (name === 'goal' ? textIn(state.context, 'graph.goal') : textIn(state.context, name))),
    readPipeline: (path) => Promise.resolve(options.children?.[path]),
    onStep: (scope, { node, isRead }) => steps.push(`${isRead ? '<' : ''}${scope.id}:${node.id}`),
    async execute(execution) {
      const { node, scope } = execution
      executed.push(`${scope.id}:${node.id}`)
      switch (scope.flow.handlers.get(node.id)) {
        case 'parallel':
          return await runParallel(walks, execution)
        case 'parallel.fan_in':
          return await runFanIn(execution, async (prompt) => await does(execution, prompt))
        case 'pipeline':
          return await runChild(walks, execution)
        case 'stack.manager_loop':
          return await runManager(walks, execution)
        case 'start':
        case 'exit':
        case 'conditional':
          return { status: 'success' }
        default:
          return await does(execution)
      }
    },
  }
  const scope: Scope = { id: '', flow, file: 'main.dot', depth: 1, bounds: undefined }
  const signal = options.signal ?? new AbortController().signal
  try {
    const { status, reason, state, last } = await runFlow(walks, scope, options.context ?? {}, signal)
    return { status, reason, last, context: state.context, executed, steps }
  } finally {
    log.close()
  }
}

/** One pipeline of each kind in the others. */
const FRAME = 'start [shape=Mdiamond] exit [shape=Msquare]'
export const NESTED: Readonly<Record<string, string>> = {
  'main.dot': `digraph { ${FRAME} start -> fan; fan [shape=component, max_parallel=2]; fan -> {p q r} -> meet -> boss -> exit
    meet [shape=tripleoctagon]; p [shape=folder, dot_file="flow.dot", outputs="n"]; q [shape=folder, dot_file="walk.dot"]
    boss [shape=house, dot_file="walk.dot", manager.poll_interval="1h"] }`,
  'flow.dot': 'digraph { a [session=x]; a -> {b c} -> d; c [shape=folder, dot_file="walk.dot"] }',
  'walk.dot': `digraph { ${FRAME} start -> w -> fan; fan [shape=component]; fan -> {x y} -> exit; w [goal_gate=true, retry_target=w] }`,
}

/** What a node does depends on its walk and its execution alone; it takes some turns. */
export function acting(statuses: readonly Status[]): Does {
  return async ({ node, scope, state }) => {
    const key = [...`${scope.id}:${node.id}:${state.steps}`].reduce(
      (sum, one) => (sum * 31 + one.charCodeAt(0)) % 1_000_003,
      7,
    )
    for (let turn = 0; turn < key % 5; turn += 1) await Promise.resolve()
    const outcome: Outcome = { status: statuses[key % statuses.length] as Status, output: `${key}` }
    return { ...outcome, context_updates: { n: key, [node.id]: key } }
  }
}

/** Rejects when it aborts, as everything does that waits. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason as Error)
    signal.addEventListener('abort', () => reject(signal.reason as Error))
  })
}
