/** Executes one node: its attempts within its time, its events and files, and what it must have written (docs/pipelines.md, Retries). */
import { constants, type Stats } from 'node:fs'
import { lstat, open } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { failed, isGood, type Outcome } from '../engine/outcome.ts'
import { afterAttempt } from '../engine/retries.ts'
import { durationOf, isOn, textOf } from '../language/graph.ts'
import type { Execution } from '../walks/walk.ts'
import { perform } from './perform.ts'
import type { Run } from './run-parts.ts'
import { attributeOf, expanded, labelOf } from './texts.ts'

/** Handlers that do nothing a person would look for. */
const QUIET: readonly (string | undefined)[] = ['start', 'exit', 'conditional']

export async function executeNode(run: Run, execution: Execution): Promise<Outcome> {
  const { scope, node } = execution
  const handler = scope.flow.handlers.get(node.id)
  const isQuiet = QUIET.includes(handler)
  const dir = isQuiet ? '' : run.files.directoryOf(execution)
  const index = run.view.begin(execution, dir)
  if (!isQuiet) run.ctx.progress(expanded(labelOf(node), execution))
  const begun = performance.now()
  const outcome = await withinTime(run, execution, (own) => ladder(run, own, dir)).catch((error: unknown) => {
    if (!run.ctx.signal.aborted) run.view.cut(execution)
    throw error
  })
  const { attempts = 1 } = outcome
  const duration_ms = Math.round(performance.now() - begun)
  if (!isQuiet) await run.files.write(dir, 'status.json', `${JSON.stringify(shown(outcome), undefined, 2)}\n`)
  run.view.end(execution, outcome, duration_ms)
  const [sessions, cost_usd] = [run.view.sessionsOf(execution), run.view.costOf(execution)]
  run.view.emit(execution, 'node_complete', {
    status: outcome.status,
    duration_ms,
    attempts,
    execution_index: index,
    ...(dir === '' ? {} : { dir }),
    ...(outcome.notes === undefined ? {} : { notes: outcome.notes }),
    ...(outcome.failure_reason === undefined ? {} : { failure_reason: outcome.failure_reason }),
    ...(sessions === undefined ? {} : { sessions }),
    ...(cost_usd === undefined ? {} : { cost_usd }),
  })
  return outcome
}

function shown({ thread: _, ...outcome }: Outcome): Record<string, unknown> {
  const { status, ...rest } = outcome
  return { outcome: status, ...rest }
}

async function ladder(run: Run, execution: Execution, dir: string): Promise<Outcome> {
  const { scope, node, signal } = execution
  const stampBefore = await stampOf(run, execution)
  for (let attempt = 1; ; attempt += 1) {
    signal.throwIfAborted()
    run.view.attempt(execution)
    const raw = await perform(run, execution, dir, attempt)
    const outcome = await afterMustWrite(run, execution, raw, stampBefore)
    const after = afterAttempt(scope.flow.graph, node, attempt, outcome, Math.random())
    if (after.kind === 'final') return attempt === 1 ? after.outcome : { ...after.outcome, attempts: attempt }
    const reason = outcome.failure_reason ?? outcome.notes ?? 'asked for by the node'
    run.view.emit(execution, 'stage_retrying', { attempt, delay_ms: after.delayMs, reason })
    await sleep(after.delayMs, undefined, { signal })
  }
}

/** The node's own `timeout` with all its attempts, and what is left for the pipeline. A question has its time by itself. */
async function withinTime(
  run: Run,
  execution: Execution,
  work: (execution: Execution) => Promise<Outcome>,
): Promise<Outcome> {
  const { node, scope, signal } = execution
  const isQuestion = scope.flow.handlers.get(node.id) === 'wait.human'
  const own = isQuestion ? undefined : durationOf(textOf(node.attributes, 'timeout') ?? '', 1_000)
  const left = run.endsAt === undefined ? undefined : Math.max(0, run.endsAt - performance.now())
  const limit = own === undefined ? left : Math.min(own, left ?? own)
  if (limit === undefined) return await work(execution)
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(new Error('the time of the node is over')), limit)
  try {
    return await work({ ...execution, signal: AbortSignal.any([signal, late.signal]) })
  } catch (error) {
    if (signal.aborted || !late.signal.aborted) throw error
    const isOfPipeline = left !== undefined && limit === left
    const reason = isOfPipeline ? 'max_pipeline_duration_exceeded' : `"${node.id}" took longer than its timeout.`
    return isOn(node.attributes, 'allow_partial') && !isOfPipeline
      ? { status: 'partial_success', notes: reason }
      : failed(reason)
  } finally {
    clearTimeout(timer)
  }
}

function mustWrite({ ctx }: Run, execution: Execution): { path: string; full: string } | undefined {
  const path = attributeOf(execution, 'must_write')
  if (path === undefined) return undefined
  return { path, full: isAbsolute(path) ? path : join(ctx.workingDirectory, path) }
}

/** Of the file that the node is to write: another one after it is another file, or was written. Times of files are coarse, so all of them count. */
async function stampOf(run: Run, execution: Execution): Promise<string | undefined> {
  const file = mustWrite(run, execution)
  return file === undefined ? undefined : stampIn(await lstat(file.full).catch(() => undefined))
}

function stampIn(found: Stats | undefined): string {
  return found === undefined ? '' : `${found.ino} ${found.size} ${found.mtimeMs} ${found.ctimeMs}`
}

/** A file that the node was to write: it is there, was written since the node began, and is not blank. */
async function afterMustWrite(
  run: Run,
  execution: Execution,
  outcome: Outcome,
  stampBefore: string | undefined,
): Promise<Outcome> {
  const file = mustWrite(run, execution)
  if (file === undefined || !isGood(outcome.status) || run.options.answers?.kind === 'rule') return outcome
  const { path, full } = file
  const problem = await missing(full, stampBefore)
  return problem === undefined
    ? outcome
    : { ...outcome, status: 'retry', failure_reason: `"${execution.node.id}" must write ${path}, which ${problem}.` }
}

async function missing(path: string, stampBefore: string | undefined): Promise<string | undefined> {
  const found = await lstat(path).catch(() => undefined)
  if (found === undefined) return 'is not there'
  if (!found.isFile()) return 'is no file'
  if (stampIn(found) === stampBefore) return 'was not written'
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  try {
    const bytes = Buffer.alloc(64 * 1024)
    const { bytesRead } = await file.read(bytes, 0, bytes.length, 0)
    return bytes.subarray(0, bytesRead).toString().trim() === '' ? 'is empty' : undefined
  } finally {
    await file.close()
  }
}
