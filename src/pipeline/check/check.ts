/** Checks the source of a pipeline: syntax, then rules. Commands, the resolver `pipeline` and the page call it. */

import { type Diagnostic, Lines } from '../language/diagnostic.ts'
import type { PipelineGraph } from '../language/graph.ts'
import { parsePipeline } from '../language/parse.ts'
import { ADVICE } from './advice.ts'
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
  // A graph that was read in part would break rules that the whole one keeps; a graph that cannot run needs no advice.
  for (const rules of [RULES, ADVICE]) {
    if (found.some(({ severity }) => severity === 'error')) break
    for (const rule of rules) {
      for (const { at, ...diagnostic } of rule(flow))
        found.push({ ...diagnostic, ...(at === undefined ? {} : lines.of(at)) })
    }
  }
  const diagnostics = found.toSorted(
    (one, other) => (one.line ?? 0) - (other.line ?? 0) || (one.column ?? 0) - (other.column ?? 0),
  )
  return { graph, flow, diagnostics, isRunnable: diagnostics.every(({ severity }) => severity !== 'error') }
}
