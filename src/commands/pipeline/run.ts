/** `resolve pipeline run`: an instance of the resolver `pipeline` with a graph and the files that it names as its input, followed to its end. */
import { basename } from 'node:path'
import { text } from 'node:stream/consumers'
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { fail } from '../../core/errors.ts'
import { isObject } from '../../core/primitives/is-object.ts'
import type { Payload } from '../../core/protocol/form.ts'
import type { InstanceRecord } from '../../core/protocol/instance.ts'
import type { ArgsOf, FlagsOf } from '../../terminal/command/base-command.ts'
import { parseBudget } from '../../terminal/command/flags.ts'
import { parseLabels } from '../../terminal/command/labels.ts'
import { BeginCommand, type Begun, beginFlags } from '../../terminal/follow/begin-command.ts'
import { type GivenInput, readJsonObject } from '../../terminal/input/input-flags.ts'
import { CommandError, usage } from '../../terminal/output/command-error.ts'
import { commandLine } from '../../terminal/output/shell.ts'
import { messageText, placeText } from '../../terminal/pipeline/check-lines.ts'
import { givenPipeline, isElsewhere, type WholePipeline, wholePipeline } from '../../terminal/pipeline/given.ts'
import { formBeside, inputsOfGraph, pipelineInputs } from '../../terminal/pipeline/inputs.ts'

export default class PipelineRun extends BeginCommand<typeof PipelineRun> {
  static override summary = 'Run a pipeline and follow it to its end'
  static override description = `Checks it, then runs the resolver "pipeline" with it and with the files that it names.
  FILE is a file, a name of "resolve pipeline list", - for stdin, or a git address with #subdirectory=PATH;
  with --repository also a path in that repository. -i gives its inputs, $key in prompts and commands.
  --simulate runs it without a model and without commands.
  --auto-approve takes the first choice of each question.`
  static override examples = [
    'resolve pipeline run review.dot -i task="Mend the links of the README"',
    'resolve pipeline run plan-build-review -i task=@task.txt --repository https://github.com/org/app',
    'resolve pipeline run review.dot --simulate --auto-approve --json',
    'resolve pipeline run -e \'digraph { start -> hi -> exit; hi [shape=parallelogram, tool_command="date"] }\'',
    'resolve pipeline run review.dot --set build.timeout=20m --set graph.goal="Ship it"',
  ]
  static override args = {
    file: Args.string({ description: 'a file, a name of the library, - for stdin, or a git address' }),
  }
  static override flags = {
    ...beginFlags,
    expression: Flags.string({ char: 'e', helpValue: 'DOT', description: 'the pipeline itself, in place of FILE' }),
    set: Flags.string({
      multiple: true,
      multipleNonGreedy: true,
      helpValue: 'node.attribute=value',
      description: 'another value of an attribute; graph.attribute for one of the graph',
    }),
    repository: Flags.string({ helpValue: 'ADDRESS', description: 'the repository that is cloned for it' }),
    branch: Flags.string({
      helpValue: 'NAME',
      description: 'the branch or tag to begin at',
      dependsOn: ['repository'],
    }),
    model: Flags.string({ helpValue: 'PROVIDER/MODEL', description: 'the model of nodes that name none' }),
    simulate: Flags.boolean({ description: 'no model and no commands: every node succeeds' }),
    ask: Flags.boolean({ description: 'with --simulate: ask for the outcome of each node', dependsOn: ['simulate'] }),
    script: Flags.string({
      helpValue: 'F',
      description: 'a JSON file with replies by node in place of models; commands run',
    }),
    'auto-approve': Flags.boolean({ description: 'take the first choice of each question' }),
    'prose-gates': Flags.string({
      options: ['pass', 'fail'],
      description: 'whether a goal gate is satisfied by an answer without a verdict (default: fail)',
    }),
    'dry-run': Flags.boolean({ description: 'check it and its inputs without creating an instance' }),
  }

  declare protected flags: FlagsOf<typeof PipelineRun>
  declare protected args: ArgsOf<typeof PipelineRun>

  protected async begin({ given }: Begun): Promise<InstanceRecord | undefined> {
    const labels = parseLabels(this.flags.label)
    const budget = parseBudget(this.flags)
    const options = { ...setOf(this.flags.set), ...(await this.options()) }
    const input = { ...(await this.pipeline(given)), ...options }
    if (this.flags['dry-run']) {
      await this.printDryRun('pipeline', input)
      return undefined
    }
    const platform = await this.platform()
    const name = this.flags.name ?? null
    const { executor, host } = this
    return await platform.create({ resolver: 'pipeline', input, name, labels, ...budget, executor, host })
  }

  /** What the run came to, in the document of --json. */
  protected override async more(id: string): Promise<Record<string, unknown>> {
    const platform = await this.platform()
    const files = await platform.dataFiles(id)
    if (!files.some(({ path, bytes }) => path === RESULT && bytes <= RESULT_MAX_BYTES)) return NOTHING
    const { stream } = await platform.data(id, RESULT)
    const result: unknown = JSON.parse(await text(stream))
    // The status of the instance stands in the document already.
    const { status: _, ...rest } = isObject(result) ? result : {}
    return { ...NOTHING, ...rest }
  }

  /** The graph, and its inputs. Errors of the check come before an instance is made. */
  private async pipeline(given: GivenInput): Promise<Payload> {
    const { expression, repository } = this.flags
    const { file } = this.args
    if ((file === undefined) === (expression === undefined))
      throw usage('Name a file, or give the pipeline itself with -e.', { next: ['resolve pipeline list'] })
    if (file !== undefined && (await isElsewhere(file, repository !== undefined)))
      return { pipeline: file, inputs: given.payload }
    const whole = await wholePipeline(
      file === undefined ? { label: '-e', path: undefined, source: expression ?? '' } : await givenPipeline(file),
    )
    this.refuseErrors(whole)
    const { path, source, files } = whole
    const form = path === undefined ? undefined : await formBeside(path)
    const again = (fields: readonly string[]) => commandLine('pipeline', 'run', file ?? '-', ...fields, ...this.said)
    const wish = { title: whole.label, mayAsk: this.mayAsk, edit: this.flags.edit, output: this.output, again }
    const inputs =
      form === undefined
        ? await inputsOfGraph(whole.checked.graph, given, wish)
        : await pipelineInputs(form, given, wish)
    const from = form?.repositoryFrom === undefined ? undefined : inputs[form.repositoryFrom]
    return {
      graph: source,
      ...(path === undefined ? {} : { file: basename(path) }),
      ...(Object.keys(files).length === 0 ? {} : { files }),
      inputs,
      ...(typeof from === 'string' && from.trim() !== '' ? { repository: from } : {}),
    }
  }

  private refuseErrors({ label, diagnostics, isRunnable }: WholePipeline): void {
    const told = (severity: string) =>
      diagnostics.filter((one) => one.severity === severity).map((one) => `${placeText(one)}: ${messageText(one)}`)
    if (!isRunnable) {
      const errors = told('error')
      const next = label === '-' || label === '-e' ? [] : [commandLine('pipeline', 'check', label)]
      throw new CommandError(fail('pipeline_invalid', { name: label, errors }), { next })
    }
    for (const line of told('warning')) this.output.note(this.output.paint('yellow', line))
  }

  private async options(): Promise<Payload> {
    const { repository, branch, model, script, simulate, ask } = this.flags
    const given = { repository, branch, model, prose_gates: this.flags['prose-gates'] }
    return {
      ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
      ...(script === undefined ? {} : { script: await readJsonObject(script) }),
      ...(simulate ? { simulate: ask ? 'ask' : 'rule' } : {}),
      ...(this.flags['auto-approve'] ? { auto_approve: true } : {}),
    }
  }
}

const RESULT = 'result.json'
const RESULT_MAX_BYTES = 64 * 1024 * 1024
const NOTHING = { visited: [], context: {}, questions: [], diagnostics: [], run_dir: null }

/** `build.timeout=20m`, each once. */
function setOf(pairs: readonly string[] | undefined): { set?: Record<string, string> } {
  if (pairs === undefined) return {}
  const entries = pairs.map((pair) => {
    const [, key, value] = /^([^=]+?\.[^=]+?)=([\s\S]*)$/.exec(pair) ?? []
    if (key === undefined || value === undefined)
      throw usage(`"--set ${pair}" names no attribute; write --set node.attribute=value.`)
    return [key, value] as const
  })
  return { set: Object.fromEntries(entries) }
}
