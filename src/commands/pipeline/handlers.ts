/** `resolve pipeline handlers`: lists what the nodes of a pipeline can do, by shape and type. */
import { BaseCommand } from '../../terminal/command/base-command.ts'
import { tableLines } from '../../terminal/output/table.ts'
import { handlersDocument } from '../../terminal/pipeline/documents.ts'

export default class PipelineHandlers extends BaseCommand<typeof PipelineHandlers> {
  static override place = 'always here' as const
  static override summary = 'List what the nodes of a pipeline can do'
  static override description = 'A node has the handler of its type, else of its shape; a box is an LLM session.'
  static override examples = ['resolve pipeline handlers', 'resolve pipeline handlers --json']

  protected async act(): Promise<undefined> {
    const document = handlersDocument()
    if (!this.output.forPerson) return (await this.output.document(document)) as undefined
    const width = process.stdout.isTTY ? process.stdout.columns : undefined
    const rows = document.handlers.map(({ name, shapes, does }) => [name, shapes.join(', '), does])
    for (const line of tableLines(HEAD, rows, width)) await this.output.result(line)
  }
}

const HEAD = [{ title: 'HANDLER' }, { title: 'SHAPE' }, { title: 'DOES', flexible: true }]
