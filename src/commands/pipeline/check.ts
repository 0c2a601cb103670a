/** `resolve pipeline check`: tells every problem of pipelines, with its place, its rule and what to write instead. */
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'
import { usage } from '../../terminal/output/command-error.ts'
import { EXIT } from '../../terminal/output/exit-codes.ts'
import { countText, messageText, placeText, SEVERITY_STYLES } from '../../terminal/pipeline/check-lines.ts'
import { checkDocument } from '../../terminal/pipeline/documents.ts'
import { givenPipeline, type WholePipeline, wholePipeline } from '../../terminal/pipeline/given.ts'

export default class PipelineCheck extends BaseCommand<typeof PipelineCheck> {
  static override place = 'always here' as const
  static override summary = 'Check pipelines without running them'
  static override description = `Tells every problem at once, with line and column, and what to write instead.
  Child pipelines that a file names are checked too. Warnings do not keep a pipeline from running.
  The exit code is 5 where one of them can't run, or with --strict where there is a warning.`
  static override examples = [
    'resolve pipeline check review.dot',
    'resolve pipeline check pipelines/*.dot --strict',
    'resolve pipeline check review.dot --json',
    'resolve pipeline check - < review.dot',
  ]
  static override strict = false
  static override args = {
    file: Args.string({ required: true, description: 'files, names of the library, or - for stdin' }),
  }
  static override flags = {
    strict: Flags.boolean({ description: 'also fail where there is a warning' }),
  }

  declare protected flags: FlagsOf<typeof PipelineCheck>

  protected async act(): Promise<number> {
    const words = [...new Set(this.words)]
    if (words.length === 0) throw usage('Name at least one file to check.')
    const pipelines: WholePipeline[] = []
    for (const word of words) pipelines.push(await wholePipeline(await givenPipeline(word)))
    const { strict } = this.flags
    const isGood = ({ isRunnable, diagnostics }: WholePipeline) =>
      isRunnable && !(strict && diagnostics.some(({ severity }) => severity === 'warning'))
    const exitCode = pipelines.every(isGood) ? EXIT.ok : EXIT.formInvalid
    if (this.output.forPerson) for (const one of pipelines) await this.print(one, isGood(one))
    else await this.output.document(checkDocument(pipelines, { exitCode, strict }))
    return exitCode
  }

  private async print({ label, checked, diagnostics }: WholePipeline, isGood: boolean): Promise<void> {
    const paint = (style: Parameters<typeof this.output.paint>[0], text: string) =>
      this.output.paint(style, text, process.stdout)
    for (const one of diagnostics) {
      const severity = paint(SEVERITY_STYLES[one.severity], one.severity === 'info' ? 'note' : one.severity)
      await this.output.raw(`${placeText(one)}: ${severity}: ${messageText(one)}\n`)
      if (one.fix !== undefined) await this.output.raw(`  ${paint('dim', `fix: ${one.fix}`)}\n`)
    }
    const { graph, flow } = checked
    const counts = countText(diagnostics)
    const size = `${graph.nodes.size} nodes, ${graph.edges.length} edges${flow.mode === 'dataflow' ? ', dataflow' : ''}`
    const line = `${isGood ? '✓' : '✗'} ${label}: ${size}${counts === undefined ? '' : `; ${counts}`}`
    await this.output.raw(`${paint(isGood ? 'green' : 'red', line)}\n`)
  }
}
