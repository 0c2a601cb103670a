/** Runs a pipeline (docs/pipelines.md): a graph of sessions, commands and questions, as its input names it. */
import { runPipeline } from '../../pipeline/run/run-pipeline.ts'
import { checkbox, type Fields, type Payload, resolver, select, text, textarea } from '../../sdk/index.ts'
import { lacksModel, NO_KEY, type PipelineParams, readOptions, readSourceOf, withSet, workspaceOf } from './input.ts'
import { registeredPipeline } from './registered.ts'

const own = await registeredPipeline()

const fieldsOf = (filled: Payload): Fields => ({
  pipeline: text({
    label: 'Pipeline',
    description: 'A name of the library, a path in the workspace, or a git address with #subdirectory=',
    placeholder: 'plan-build-review',
  }),
  graph:
    typeof filled['pipeline'] === 'string' && filled['pipeline'] !== ''
      ? undefined
      : textarea({ label: 'Graph', description: 'The source in DOT, where no pipeline is named' }),
  inputs: textarea({ label: 'Inputs', description: 'One key=value in a line' }),
  repository: text({ label: 'Repository', description: 'What the pipeline works on; an empty directory when empty' }),
  branch: text({
    label: 'Begin at',
    description: 'A branch or tag of the repository; its default branch when empty',
  }),
  model: text({ label: 'Model', description: 'provider/model; RESOLVE_LLM_MODEL of the host when empty' }),
  simulate: select({
    label: 'Simulate',
    description: 'Without a model: sessions succeed by rule, or you say how each ends',
    options: [{ value: '', label: 'No' }, 'rule', 'ask'],
    default: '',
  }),
  auto_approve: checkbox({ label: 'Answer questions with their first choice', default: false }),
})

const paramsOf = (filled: object): PipelineParams =>
  own === undefined ? (filled as PipelineParams) : own.paramsOf(filled as Record<string, unknown>)

resolver({
  ...(own === undefined
    ? {}
    : { name: own.name, version: own.version, description: own.description, supportsResume: true }),
  phases: ['pipeline_setup', 'executing'],

  params: (filled) => own?.fields() ?? fieldsOf(filled),

  workspace: (params) => workspaceOf(paramsOf(params)),

  async run(ctx) {
    // A run that is lost can go on: what was done is in the checkpoint of the pipeline.
    ctx.checkpoint.save({})
    ctx.phase('pipeline_setup')
    const params = paramsOf(ctx.params)
    const found = (await own?.source()) ?? (await readSourceOf(params, ctx.workingDirectory, ctx.workspace))
    if ('problem' in found) return { status: 'failed', error: found.problem }
    const options = readOptions(params)
    if ('problem' in options) return { status: 'failed', error: options.problem }
    const source = withSet(found.source, params.set)
    if ((await ctx.data.read('graph.dot')) === undefined) {
      await ctx.data.write('graph.dot', source)
      ctx.artifact('file', 'graph.dot')
    }
    if (lacksModel(ctx.config, source, options.options)) return { status: 'failed', error: NO_KEY }
    ctx.phase('executing')
    const [clone] = ctx.workspace
    // Nodes work in the repository, also where the pipeline has a clone of its own beside it.
    const isInRepository = clone !== undefined && (params.repository ?? '').trim() !== ''
    const workingDirectory = isInRepository ? clone.path : ctx.workingDirectory
    const placed = Object.create(ctx, { workingDirectory: { value: workingDirectory } }) as typeof ctx
    const { result, answer } = await runPipeline(placed, { ...found, source, ...options })
    await ctx.data.write('result.json', `${JSON.stringify(result, undefined, 2)}\n`)
    ctx.artifact('file', 'result.json')
    const { pull_request: pull } = result.context
    if (typeof pull === 'string' && URL.canParse(pull)) ctx.artifact('pr', pull)
    if (result.status === 'fail') return { status: 'failed', error: result.reason ?? 'The pipeline failed.' }
    const passed = result.passed_over
      .map(({ node_id: id, reason }) => `\nFailed on the way: "${id}": ${reason}`)
      .join('')
    return `${answer ?? `${result.visited.length} nodes were executed.`}${passed}`
  },
}).serve()
