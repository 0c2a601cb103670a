/** The handler `stack.manager_loop`: runs a child pipeline, looks at it again and again, and ends it where its condition holds or its cycles are used up. */
import { setTimeout as sleep } from 'node:timers/promises'
import { childPathOf } from '../check/family.ts'
import { failed, type Outcome } from '../engine/outcome.ts'
import { valueIn } from '../engine/select-edge.ts'
import { isTrue, parseCondition } from '../language/condition.ts'
import { durationOf, integerOf, textOf } from '../language/graph.ts'
import { type Child, childOf, childOutcome, runFlow } from './child.ts'
import type { Ended, Execution, Walks } from './walk.ts'

const POLL_MS = 45_000
const CYCLES_MAX = 1_000
/** What a timer of Node takes; a longer one would end at once. */
const TIMER_MAX_MS = 2 ** 31 - 1

/** What conditions of the manager are asked about, beside its context. */
type Seen = Record<string, unknown>

export async function runManager(walks: Walks, execution: Execution): Promise<Outcome> {
  const { node, scope } = execution
  const holds = stopCondition(execution)
  const isStarted = textOf(node.attributes, 'stack.child_autostart')?.trim().toLowerCase() !== 'false'
  if (!isStarted || childPathOf(scope.flow, node) === undefined) {
    // Nothing runs that could change it.
    if (holds({}, '')) return { status: 'success' }
    return failed(`"${node.id}" runs no child, and its stop condition does not hold.`)
  }
  const child = await childOf(walks, execution)
  if ('status' in child) return child
  return await supervise(walks, execution, child, holds)
}

async function supervise(
  walks: Walks,
  execution: Execution,
  child: Child,
  holds: (seen: Seen, outcome: string) => boolean,
): Promise<Outcome> {
  const { node, signal } = execution
  const pollMs = durationOf(textOf(node.attributes, 'manager.poll_interval') ?? '', 1_000) ?? POLL_MS
  const most = Math.max(1, integerOf(node.attributes, 'manager.max_cycles') ?? CYCLES_MAX)
  let seen: Seen = { 'stack.child.status': 'running', 'stack.child.outcome': '' }
  const watched: Walks = {
    log: walks.log,
    execute: (one) => walks.execute(one),
    expand: (one, text) => walks.expand(one, text),
    readPipeline: (path) => walks.readPipeline(path),
    onBranch: (one, branch, result) => walks.onBranch?.(one, branch, result),
    onStep(scope, done, next) {
      if (scope.id === child.scope.id) {
        const context = next?.state.context ?? done.outcome.context_updates
        seen = { ...seen, ...context, 'stack.child.current_node': done.node.id }
      }
      walks.onStep?.(scope, done, next)
    },
  }
  const ending = new AbortController()
  const ran = runFlow(watched, child.scope, child.context, AbortSignal.any([signal, ending.signal]))
  const end = async (reason: string) => {
    ending.abort(new Error(reason))
    await ran.catch(() => {})
    signal.throwIfAborted()
  }
  for (let cycle = 1; ; cycle += 1) {
    const ended = await endedWithin(ran, pollMs)
    if (ended !== undefined) {
      const outcome = childOutcome(execution, ended)
      return told(outcome, ended.status === 'success' ? 'completed' : 'failed', outcome.status)
    }
    if (holds(seen, '')) {
      await end('The stop condition of the manager holds')
      return told({ status: 'success' }, 'stopped', '')
    }
    if (cycle >= most) {
      await end('The cycles of the manager are used up')
      const reason = `The child had not ended after ${most} ${most === 1 ? 'cycle' : 'cycles'} of "${node.id}".`
      return told(failed(reason), 'stopped', '')
    }
  }
}

/** Undefined where it still runs after that time. Rejects where it does. */
async function endedWithin(ran: Promise<Ended>, ms: number): Promise<Ended | undefined> {
  const waiting = new AbortController()
  try {
    return await Promise.race([ran, sleep(Math.min(ms, TIMER_MAX_MS), undefined, { signal: waiting.signal })])
  } finally {
    waiting.abort()
  }
}

function told(outcome: Outcome, status: string, childOutcome: string): Outcome {
  const own = { 'stack.child.status': status, 'stack.child.outcome': childOutcome }
  return { ...outcome, context_updates: { ...outcome.context_updates, ...own } }
}

/** Of the context of the manager and, over it, that of the child. `outcome` is that of the child, empty while it runs. */
function stopCondition({ node, state }: Execution): (seen: Seen, outcome: string) => boolean {
  const text = textOf(node.attributes, 'manager.stop_condition')?.trim() ?? ''
  const parsed = parseCondition(text)
  if (text === '' || !parsed.isOk) return () => false
  return (seen, status) =>
    isTrue(parsed.condition, { status, label: undefined, get: (key) => valueIn({ ...state.context, ...seen }, key) })
}
