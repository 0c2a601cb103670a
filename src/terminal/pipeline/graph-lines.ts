/** A pipeline as a list: each node with its handler and label, and below it the edges that leave it. Pure; `resolve pipeline show` prints it. */
import { cleanLine } from '../../core/view/clean.ts'
import type { Flow } from '../../pipeline/check/flow.ts'
import { isOn, numberOf, type PipelineEdge, type PipelineNode, textOf } from '../../pipeline/language/graph.ts'

export type PartStyle = 'bold' | 'cyan' | 'dim' | 'yellow' | 'green'

/** A piece of a line, with how it is painted. */
export interface Part {
  text: string
  style?: PartStyle
}

const LABEL_MAX_CHARS = 80

export function graphLines(flow: Flow): Part[][] {
  const order = inOrder(flow)
  const place = new Map(order.map((id, at) => [id, at]))
  const width = Math.min(30, Math.max(0, ...order.map((id) => cleanLine(id).length)))
  return order.flatMap((id, at) => {
    const node = flow.graph.nodes.get(id) as PipelineNode
    const edges = flow.outgoing.get(id) ?? []
    return [nodeLine(flow, node, width), ...edges.map((edge) => edgeLine(edge, (place.get(edge.to) ?? 0) <= at))]
  })
}

function nodeLine({ handlers }: Flow, node: PipelineNode, width: number): Part[] {
  const { id, attributes } = node
  const label = cleanLine(textOf(attributes, 'label') ?? '')
  const says = label === '' || label === id ? said(node) : label
  const notes = [
    ...(isOn(attributes, 'goal_gate') ? ['goal gate'] : []),
    ...['max_retries', 'timeout', 'retry_target'].flatMap((name) => {
      const value = textOf(attributes, name)
      return value === undefined ? [] : [`${name}=${cleanLine(value)}`]
    }),
  ]
  return [
    { text: cleanLine(id).padEnd(width), style: 'bold' },
    { text: `  ${handlers.get(id) ?? 'no handler'}`, style: 'cyan' },
    ...(says === '' ? [] : [{ text: `  ${short(says)}` }]),
    ...(notes.length === 0 ? [] : [{ text: `  (${notes.join(', ')})`, style: 'dim' as const }]),
  ]
}

function said({ attributes }: PipelineNode): string {
  const names = ['prompt', 'tool_command', 'dot_file', 'session', 'duration']
  return cleanLine(names.map((name) => textOf(attributes, name) ?? '').find((text) => text.trim() !== '') ?? '')
}

function edgeLine({ to, attributes }: PipelineEdge, isBack: boolean): Part[] {
  const condition = cleanLine(textOf(attributes, 'condition') ?? '')
  const label = cleanLine(textOf(attributes, 'label') ?? '')
  const weight = numberOf(attributes, 'weight') ?? 0
  return [
    { text: `  ${isBack ? '↩' : '→'} `, style: 'dim' },
    { text: cleanLine(to) },
    ...(label === '' ? [] : [{ text: `  "${short(label)}"`, style: 'green' as const }]),
    ...(condition === '' ? [] : [{ text: `  if ${condition}`, style: 'yellow' as const }]),
    ...(weight === 0 ? [] : [{ text: `  weight ${weight}`, style: 'dim' as const }]),
    ...(isOn(attributes, 'loop_restart') ? [{ text: '  begins again', style: 'dim' as const }] : []),
  ]
}

/** From the beginnings on, each node after one that leads to it where no cycle forbids it; what no way leads to comes last. */
function inOrder({ graph, outgoing, incoming, starts }: Flow): string[] {
  const first = starts.length > 0 ? starts : [...graph.nodes.keys()].filter((id) => incoming.get(id)?.length === 0)
  const found = new Set(first)
  for (const id of found) for (const { to } of outgoing.get(id) ?? []) found.add(to)
  for (const id of graph.nodes.keys()) found.add(id)
  return [...found]
}

function short(text: string): string {
  const chars = [...text]
  return chars.length <= LABEL_MAX_CHARS ? text : `${chars.slice(0, LABEL_MAX_CHARS - 1).join('')}…`
}
