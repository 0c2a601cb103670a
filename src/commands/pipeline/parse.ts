/** `resolve pipeline parse`: prints a pipeline as JSON, as it was read. */
import * as Args from '@oclif/core/args'
import { type ArgsOf, BaseCommand } from '../../terminal/command/base-command.ts'
import { EXIT } from '../../terminal/output/exit-codes.ts'
import { parseDocument } from '../../terminal/pipeline/documents.ts'
import { givenPipeline, wholePipeline } from '../../terminal/pipeline/given.ts'

export default class PipelineParse extends BaseCommand<typeof PipelineParse> {
  static override place = 'always here' as const
  static override summary = 'Print a pipeline as JSON'
  static override description = `Nodes, edges and attributes as they were read, also without --json.
  Aliases of attributes have their canonical names.
  The exit code is 5 where the syntax has errors; what could be read is printed.`
  static override examples = [
    'resolve pipeline parse review.dot',
    "resolve pipeline parse review.dot | jq '.nodes[].id'",
  ]
  static override args = {
    file: Args.string({ required: true, description: 'a file, a name of the library, or - for stdin' }),
  }

  declare protected args: ArgsOf<typeof PipelineParse>

  protected async act(): Promise<number> {
    const document = parseDocument(await wholePipeline(await givenPipeline(this.args.file)))
    await this.output.document(document)
    return document.diagnostics.some(({ severity }) => severity === 'error') ? EXIT.formInvalid : EXIT.ok
  }
}
