/** `resolve pipeline show`: prints a pipeline as a list of nodes with their edges, or draws it as SVG. */
import { writeFileSync } from 'node:fs'
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { systemCode } from '../../core/errors.ts'
import { cleanLine } from '../../core/view/clean.ts'
import { textOf } from '../../pipeline/language/graph.ts'
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../terminal/command/base-command.ts'
import { usage } from '../../terminal/output/command-error.ts'
import { countText } from '../../terminal/pipeline/check-lines.ts'
import { parseDocument } from '../../terminal/pipeline/documents.ts'
import { drawnAsSvg } from '../../terminal/pipeline/drawing.ts'
import { givenPipeline, type WholePipeline, wholePipeline } from '../../terminal/pipeline/given.ts'
import { graphLines } from '../../terminal/pipeline/graph-lines.ts'

export default class PipelineShow extends BaseCommand<typeof PipelineShow> {
  static override place = 'always here' as const
  static override summary = 'Show the nodes and edges of a pipeline'
  static override description = `Each node with the edges that leave it; ↩ marks an edge that leads back.
  --svg draws it with Graphviz, which is part of the program.`
  static override examples = [
    'resolve pipeline show review.dot',
    'resolve pipeline show plan-build-review',
    'resolve pipeline show review.dot --svg -o review.svg',
  ]
  static override args = {
    file: Args.string({ required: true, description: 'a file, a name of the library, or - for stdin' }),
  }
  static override flags = {
    svg: Flags.boolean({ description: 'draw it as SVG, on stdout or into the file of -o', exclusive: ['json'] }),
    output: Flags.string({ char: 'o', helpValue: 'F', description: 'where to write the drawing', dependsOn: ['svg'] }),
  }

  declare protected args: ArgsOf<typeof PipelineShow>
  declare protected flags: FlagsOf<typeof PipelineShow>

  protected async act(): Promise<undefined> {
    const pipeline = await wholePipeline(await givenPipeline(this.args.file))
    if (this.flags.svg) await this.draw(pipeline)
    else if (this.output.forPerson) await this.print(pipeline)
    else await this.output.document(parseDocument(pipeline))
    const counts = countText(pipeline.diagnostics.filter(({ severity }) => severity !== 'info'))
    if (counts !== undefined && !this.output.json)
      this.output.note(this.output.paint('yellow', `${counts}; "resolve pipeline check ${this.args.file}" tells them.`))
  }

  private async print({ checked, label }: WholePipeline): Promise<void> {
    const { graph, flow } = checked
    const paint = (style: Parameters<typeof this.output.paint>[0], text: string) =>
      this.output.paint(style, text, process.stdout)
    const goal = textOf(graph.attributes, 'label') ?? textOf(graph.attributes, 'goal')
    const title = graph.name === '' ? label : graph.name
    await this.output.raw(`${paint('bold', cleanLine(title))}${goal === undefined ? '' : `: ${cleanLine(goal)}`}\n`)
    const how = flow.mode === 'dataflow' ? 'each node runs when all before it have ended' : 'one node at a time'
    await this.output.raw(`${graph.nodes.size} nodes, ${graph.edges.length} edges; ${how}\n\n`)
    for (const parts of graphLines(flow))
      await this.output.raw(
        `${parts.map(({ text, style }) => (style === undefined ? text : paint(style, text))).join('')}\n`,
      )
  }

  private async draw({ checked }: WholePipeline): Promise<void> {
    const svg = await drawnAsSvg(checked.flow)
    const { output: file } = this.flags
    if (file === undefined) return await this.output.raw(svg)
    try {
      writeFileSync(file, svg)
    } catch (error) {
      throw usage(`Can't write ${file} (${systemCode(error) ?? 'unknown error'}).`)
    }
    this.output.note(`Drawn in ${file}.`)
  }
}
