/** Draws a pipeline as SVG. Graphviz gets a graph that is written here, of names, labels and shapes alone: nothing else of a file reaches it. */
import { fail } from '../../core/errors.ts'
import { cleanText } from '../../core/view/clean.ts'
import type { Flow } from '../../pipeline/check/flow.ts'
import { textOf } from '../../pipeline/language/graph.ts'
import { HANDLERS } from '../../pipeline/language/handlers.ts'

/** Loads Graphviz, a megabyte, at the first call. Throws `drawing_failed`. */
export async function drawnAsSvg(flow: Flow): Promise<string> {
  const { instance } = await import('@viz-js/viz')
  const drawn = (await instance()).render(drawableSource(flow), { format: 'svg' })
  if (drawn.status === 'success') return drawn.output
  const reason = drawn.errors.map(({ message }) => message).join('; ')
  throw fail('drawing_failed', { reason: reason === '' ? 'it says no reason' : reason })
}

export function drawableSource({ graph, handlers }: Flow): string {
  const nodes = [...graph.nodes.values()].map(({ id, attributes }) => {
    const handler = handlers.get(id)
    const shape = handler === undefined ? 'plaintext' : HANDLERS[handler].shape
    return `  ${quoted(id)} [label=${quoted(textOf(attributes, 'label') ?? id)}, shape=${shape}]`
  })
  const edges = graph.edges.map(({ from, to, attributes }) => {
    const words = [textOf(attributes, 'label') ?? '', textOf(attributes, 'condition') ?? ''].filter(
      (text) => text !== '',
    )
    return `  ${quoted(from)} -> ${quoted(to)} [label=${quoted(words.join('\n'))}]`
  })
  const rankdir = /^(?:LR|RL|BT)$/.test(textOf(graph.attributes, 'rankdir') ?? '')
    ? textOf(graph.attributes, 'rankdir')
    : 'TB'
  const head = [`rankdir=${rankdir}`, 'node [fontname="Arial"]', 'edge [fontname="Arial"]']
  return ['digraph {', ...head.map((line) => `  ${line}`), ...nodes, ...edges, '}', ''].join('\n')
}

const TEXT_MAX_CHARS = 200

/** A backslash would begin an escape of Graphviz, as `\N`. */
function quoted(text: string): string {
  const short =
    text.length <= TEXT_MAX_CHARS ? text : `${text.slice(0, TEXT_MAX_CHARS - 1).replace(/[\ud800-\udbff]$/, '')}…`
  return `"${cleanText(short).replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`
}
