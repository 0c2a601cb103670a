/** The JSON documents of the commands for pipelines (docs/json.md). */

import { Lines } from '../../pipeline/language/diagnostic.ts'
import { type Attributes, numberOf, textOf } from '../../pipeline/language/graph.ts'
import { HANDLERS, type Handler, shapesOf, typesOf } from '../../pipeline/language/handlers.ts'
import type { WholePipeline } from './given.ts'

export function checkDocument(
  pipelines: readonly WholePipeline[],
  { exitCode, strict }: { exitCode: number; strict: boolean },
) {
  return {
    schema: 'resolve.pipeline-check/1',
    exit_code: exitCode,
    valid: exitCode === 0,
    strict,
    files: pipelines.map(({ label, checked, diagnostics, isRunnable }) => ({
      file: label,
      runnable: isRunnable,
      mode: checked.flow.mode,
      nodes: checked.graph.nodes.size,
      edges: checked.graph.edges.length,
      errors: diagnostics.filter(({ severity }) => severity === 'error').length,
      warnings: diagnostics.filter(({ severity }) => severity === 'warning').length,
    })),
    diagnostics: pipelines.flatMap(({ diagnostics }) => diagnostics),
  }
}

/** The pipeline as it was read. Attributes have their canonical names. */
export function parseDocument({ label, source, checked }: WholePipeline) {
  const { graph, flow, diagnostics } = checked
  const lines = new Lines(source)
  return {
    schema: 'resolve.pipeline/1',
    file: label,
    name: graph.name,
    goal: textOf(graph.attributes, 'goal') ?? '',
    mode: flow.mode,
    attributes: toObject(graph.attributes),
    nodes: [...graph.nodes.values()].map((node) => ({
      id: node.id,
      handler: flow.handlers.get(node.id) ?? null,
      label: textOf(node.attributes, 'label') ?? node.id,
      classes: node.classes,
      implicit: node.isImplicit,
      attributes: toObject(node.attributes),
      ...lines.of(node.at),
    })),
    edges: graph.edges.map(({ from, to, at, attributes }) => ({
      from,
      to,
      label: textOf(attributes, 'label') ?? '',
      condition: textOf(attributes, 'condition') ?? '',
      weight: numberOf(attributes, 'weight') ?? 0,
      attributes: toObject(attributes),
      ...lines.of(at),
    })),
    diagnostics: diagnostics.filter(({ rule }) => rule === 'syntax'),
  }
}

export function handlersDocument() {
  return {
    schema: 'resolve.pipeline-handlers/1',
    handlers: (Object.keys(HANDLERS) as Handler[]).map((name) => ({
      name,
      shapes: shapesOf(name),
      types: typesOf(name),
      does: HANDLERS[name].does,
    })),
  }
}

/** An attribute may be named `__proto__`. */
function toObject(attributes: Attributes): Record<string, string> {
  const entries = [...attributes].map(([name, { text }]) => [name, text] as const)
  return Object.fromEntries(entries)
}
