/** Runs a pipeline from its beginning, or from where an earlier process came to (docs/pipelines.md, A run). The resolver `pipeline` calls it. */
import { join, posix } from 'node:path'
import { checkFamily, type Family } from '../check/family.ts'
import { declaredInputs, missingInputs } from '../check/inputs.ts'
import { durationOf, type PipelineGraph, textOf } from '../language/graph.ts'
import { expand } from '../language/variables.ts'
import { runFlow } from '../walks/child.ts'
import { OutcomeLog } from '../walks/outcome-log.ts'
import type { Ended, Scope, Walks } from '../walks/walk.ts'
import { executeNode } from './execute-node.ts'
import { NodeFiles, questionsOf } from './node-files.ts'
import type { Run, RunOptions } from './run-parts.ts'
import { keyOf, type PipelineContext, RunView } from './run-view.ts'
import { expanded } from './texts.ts'
import { wasTold } from './told-before.ts'

export interface PipelineSource {
  /** The path of the graph, from the folder of its files. */
  file: string
  source: string
  /** What belongs to it, by paths from the same folder. */
  read(path: string): string | undefined
}

export interface PipelineInput extends PipelineSource {
  inputs: Readonly<Record<string, string>>
  options: RunOptions
}

/** `run --json` prints it: what was visited, and nothing else of the source. */
export interface PipelineResult {
  status: 'success' | 'fail'
  reason?: string
  visited: string[]
  context: Record<string, unknown>
  questions: string[]
  diagnostics: Family['diagnostics']
  passed_over: { node_id: string; reason: string }[]
  run_dir: string
}

/** What a run gave, with the last answer of a session in its own nodes: a question or a command after it does not replace it. */
export interface PipelineEnd {
  result: PipelineResult
  answer?: string
}

const CHECKPOINT = 'pipeline.jsonl'

/** Throws where the run can't go on: by its stop, by a budget, without a key. */
export async function runPipeline(ctx: PipelineContext, input: PipelineInput): Promise<PipelineEnd> {
  const family = checkFamily({ path: input.file, source: input.source, read: (path) => input.read(path) })
  const root = family.members.values().next().value as NonNullable<ReturnType<Family['members']['get']>>
  const diagnostics = [...family.diagnostics]
  const runDir = process.env['RESOLVE_DIR'] ?? ''
  const ended = (status: PipelineResult['status'], more: Partial<PipelineResult>, answer?: string): PipelineEnd => ({
    result: {
      ...{ status, visited: [], context: {}, questions: [], passed_over: [], diagnostics, run_dir: runDir },
      ...more,
    },
    ...(answer === undefined ? {} : { answer }),
  })
  if (!family.isRunnable)
    return ended('fail', {
      reason: diagnostics
        .filter(({ severity }) => severity === 'error')
        .map(told)
        .join('\n'),
    })

  const context = contextOf(ctx, root.graph, input.inputs)
  if ('problem' in context) return ended('fail', { reason: context.problem })
  const log = new OutcomeLog(join(runDir, CHECKPOINT))
  const scope: Scope = { id: '', flow: root.flow, file: input.file, depth: 1, bounds: undefined }
  const view = new RunView(ctx, textOf(root.graph.attributes, 'label') ?? root.graph.name)
  const before = { ...ctx.state }
  const [replies, turnsBefore] = [new Map<string, number>(), new Map<string, number>()]
  const walks: Walks = {
    log,
    execute: (execution) => executeNode(run, execution),
    expand: (execution, text) => expanded(text, execution),
    readPipeline: async (path) => input.read(path),
    onBranch: (execution, branch, result) => view.branch(execution, branch, result),
    onStep: (of, done, next) => view.step(of, done, next),
  }
  for (const { scope: id, node, outcome } of log.all) {
    const key = keyOf(id, node)
    replies.set(key, (replies.get(key) ?? 0) + (outcome.attempts ?? 1))
    if (outcome.thread !== undefined) turnsBefore.set(outcome.thread.name, outcome.thread.turns)
  }
  const limit = durationOf(textOf(root.graph.attributes, 'max_pipeline_duration') ?? '', 1)
  const begun = performance.now()
  const run: Run = {
    ...{ ctx, options: input.options, walks, family, view, replies, turnsBefore },
    fileOf: (path) => input.read(path),
    files: new NodeFiles(ctx.data, log),
    threads: new Map(),
    endsAt: undefined,
  }
  view.add(scope)
  if (log.size === 0) {
    const nodes = root.graph.nodes.size
    await writeChildren(ctx, family.members, posix.normalize(input.file))
    if (!wasTold(runDir, `${ctx.config.resolver_name}.start`))
      ctx.emit('start', {
        name: root.graph.name,
        goal: context.values['graph.goal'] ?? '',
        nodes,
        mode: root.flow.mode,
      })
  } else view.restore(before, log.all)
  view.write()
  if (limit !== undefined) run.endsAt = begun + limit - view.elapsedBefore
  try {
    const end = await runFlow(walks, scope, context.values, ctx.signal)
    view.write()
    const duration_ms = Math.round(performance.now() - begun)
    // A process that was killed between this event and its result told it already.
    if (!wasTold(runDir, `${ctx.config.resolver_name}.complete`))
      ctx.emit('complete', { status: end.status, duration_ms, nodes: end.state.completed.length })
    return ended(
      end.status,
      resultOf(run, end),
      log.of(scope.id).findLast(({ outcome }) => outcome.output)?.outcome.output,
    )
  } catch (error) {
    view.write()
    if (!ctx.signal.aborted) ctx.emit('error', { reason: error instanceof Error ? error.message : String(error) })
    throw error
  } finally {
    log.close()
  }
}

/** The sources of children as data files, `graphs/<node>.dot`, those of their children below: where the way to them is known before the run. */
async function writeChildren(
  ctx: PipelineContext,
  members: Family['members'],
  file: string,
  above = '',
): Promise<void> {
  for (const [node, child] of members.get(file)?.children ?? []) {
    const source = members.get(child)?.source
    if (source === undefined || !/^[\w-]+$/.test(node)) continue
    await ctx.data.write(`graphs/${above}${node}.dot`, source)
    await writeChildren(ctx, members, child, `${above}${node}/`)
  }
}

function resultOf({ walks }: Run, { reason, state }: Ended): Partial<PipelineResult> {
  return {
    ...(reason === undefined ? {} : { reason }),
    visited: state.completed,
    context: state.context,
    questions: questionsOf(walks.log),
    passed_over: state.passed_over,
  }
}

function told({ message, line, column, file }: Family['diagnostics'][number]): string {
  const place = line === undefined ? '' : `${line}:${column ?? 1}: `
  return `${file === undefined ? '' : `${file}:`}${place}${message}`
}

/** The values that a run begins with. A `$param` of the graph's own attributes has to have one. */
function contextOf(
  { config, workingDirectory }: PipelineContext,
  graph: PipelineGraph,
  inputs: Readonly<Record<string, string>>,
): { values: Record<string, unknown> } | { problem: string } {
  const values: Record<string, unknown> = {
    target_dir: workingDirectory,
    work_dir: process.env['RESOLVE_DIR'] ?? '',
    instance_id: config.instance_id,
  }
  for (const [name, value] of declaredInputs(graph)) if (value !== undefined) values[name] = value
  Object.assign(values, inputs)
  const missing = missingInputs(graph, values)
  if (missing.length > 0)
    return { problem: `The goal names ${missing.map((one) => `$${one}`).join(', ')}, which the inputs do not give.` }
  const written = inputs['goal'] ?? textOf(graph.attributes, 'goal') ?? ''
  const goal = expand(written, (key) => (typeof values[key] === 'string' ? (values[key] as string) : undefined))
  return { values: { ...values, goal, 'graph.goal': goal } }
}
