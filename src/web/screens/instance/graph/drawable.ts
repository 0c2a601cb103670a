/**
 * Makes what Graphviz draws from the source of a pipeline: names, labels and shapes alone, with numbers as names. Of a source that is no
 * pipeline, Graphviz gets the source itself. Pure.
 */
import { cleanText } from '../../../../core/view/clean.ts'
import { textOf } from '../../../../pipeline/language/graph.ts'
import { HANDLERS, handlerOf } from '../../../../pipeline/language/handlers.ts'
import { parsePipeline } from '../../../../pipeline/language/parse.ts'

/** More than these would be a picture in which a reader finds nothing. */
export const DRAWN_NODES_MAX = 400
export const DRAWN_EDGES_MAX = 1_200
const LABEL_MAX_CHARS = 80
const LINE_CHARS = 26

export interface Drawable {
  dot: string
  nodes: number
  edges: number
  /** The name of a node by its name in the drawing. */
  nameOf: (drawn: string) => string
}

export function drawableOf(source: string): Drawable {
  const { graph, diagnostics } = parsePipeline(source)
  const isRead = graph.nodes.size > 0 && diagnostics.every(({ severity }) => severity !== 'error')
  if (!isRead) return { dot: source, nodes: 0, edges: 0, nameOf: (drawn) => drawn }
  const ids = [...graph.nodes.keys()]
  const numbers = new Map(ids.map((id, index) => [id, `n${index}`]))
  const nodes = [...graph.nodes.values()].map((node) => {
    const handler = handlerOf(node)
    const shape = handler === undefined ? 'box' : HANDLERS[handler].shape
    const label = wrapped(textOf(node.attributes, 'label') ?? node.id)
    return `  ${numbers.get(node.id)} [label=${quoted(label)}, shape=${shape}${shape === 'box' ? ', style=rounded' : ''}]`
  })
  const edges = graph.edges.map(({ from, to, attributes }) => {
    const words = textOf(attributes, 'label') || textOf(attributes, 'condition') || ''
    return `  ${numbers.get(from)} -> ${numbers.get(to)} [label=${quoted(wrapped(words))}]`
  })
  const rankdir = textOf(graph.attributes, 'rankdir') ?? ''
  const head = `  rankdir=${/^(?:LR|RL|BT)$/.test(rankdir) ? rankdir : 'TB'}`
  return {
    dot: ['digraph {', head, ...nodes, ...edges, '}'].join('\n'),
    nodes: nodes.length,
    edges: edges.length,
    nameOf: (drawn) => ids[Number(/^n(\d+)$/.exec(drawn)?.[1])] ?? drawn,
  }
}

function wrapped(text: string): string {
  const clean = cleanText(text).trim()
  const short =
    clean.length <= LABEL_MAX_CHARS ? clean : `${clean.slice(0, LABEL_MAX_CHARS - 1).replace(/[\ud800-\udbff]$/, '')}…`
  const lines: string[] = []
  for (const word of short.split(/\s+/)) {
    const last = lines.at(-1)
    if (last === undefined || last.length + word.length >= LINE_CHARS) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines.join('\n')
}

/** A backslash would begin an escape of Graphviz, as `\N`. */
function quoted(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`
}
