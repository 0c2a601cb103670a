/** Checks the source of a pipeline: syntax, then rules. Commands, the resolver `pipeline` and the page call it. */
import { type Diagnostic, Lines } from '../language/diagnostic.ts'
import type { PipelineGraph } from '../language/graph.ts'
import { parsePipeline } from '../language/parse.ts'
import { type Flow, flowOf } from './flow.ts'
import { RULES } from './rules.ts'

export interface Checked {
  graph: PipelineGraph
  flow: Flow
  /** In the order of their places; those of the whole pipeline first. */
  diagnostics: Diagnostic[]
  /** Whether it may run: no error is among them. */
  isRunnable: boolean
}

export function checkPipeline(source: string): Checked {
  const { graph, diagnostics: syntax } = parsePipeline(source)
  const flow = flowOf(graph)
  const lines = new Lines(source)
  const found = [...syntax]
  // A graph that was read in part would break rules that the whole one keeps.
  if (syntax.every(({ severity }) => severity !== 'error')) {
    for (const rule of RULES) {
      for (const { at, ...diagnostic } of rule(flow))
        found.push({ ...diagnostic, ...(at === undefined ? {} : lines.of(at)) })
    }
  }
  const diagnostics = found.toSorted(
    (one, other) => (one.line ?? 0) - (other.line ?? 0) || (one.column ?? 0) - (other.column ?? 0),
  )
  return { graph, flow, diagnostics, isRunnable: diagnostics.every(({ severity }) => severity !== 'error') }
}
