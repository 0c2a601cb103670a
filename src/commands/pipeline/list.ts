/** `resolve pipeline list`: lists the pipelines that ship with the program. */
import { join } from 'node:path'
import { pipelinesIn } from '../../pipeline/files/library.ts'
import { textOf } from '../../pipeline/language/graph.ts'
import { BaseCommand } from '../../terminal/command/base-command.ts'
import { tableLines } from '../../terminal/output/table.ts'
import { givenPipeline, libraryFolder, wholePipeline } from '../../terminal/pipeline/given.ts'

export default class PipelineList extends BaseCommand<typeof PipelineList> {
  static override place = 'always here' as const
  static override summary = 'List the pipelines of the library'
  static override description = 'They ship with the program; the other commands take their names in place of a file.'
  static override examples = ['resolve pipeline list', 'resolve pipeline list --json']

  protected async act(): Promise<undefined> {
    const folder = libraryFolder()
    const pipelines: { name: string; title: string; nodes: number; edges: number; path: string }[] = []
    for (const name of await pipelinesIn(folder)) {
      const { checked } = await wholePipeline(await givenPipeline(join(folder, `${name}.dot`)))
      const { attributes, nodes, edges } = checked.graph
      const title = textOf(attributes, 'label') ?? textOf(attributes, 'goal') ?? ''
      pipelines.push({ name, title, nodes: nodes.size, edges: edges.length, path: join(folder, `${name}.dot`) })
    }
    if (!this.output.forPerson) {
      await this.output.document({ schema: 'resolve.pipelines/1', pipelines })
      return
    }
    const width = process.stdout.isTTY ? process.stdout.columns : undefined
    const rows = pipelines.map(({ name, nodes, title }) => [name, String(nodes), title])
    for (const line of rows.length === 0 ? [] : tableLines(HEAD, rows, width)) await this.output.result(line)
    if (rows.length === 0) this.output.note('The library has no pipeline.')
  }
}

const HEAD = [{ title: 'PIPELINE' }, { title: 'NODES' }, { title: 'DOES', flexible: true }]
