/** Which handler runs a node (docs/pipelines.md, Nodes): by its type, its id, its shape. */
import { type PipelineNode, textOf } from './graph.ts'

export const HANDLERS = {
  start: { shape: 'Mdiamond', does: 'where a run begins' },
  exit: { shape: 'Msquare', does: 'where a run ends; goal gates are looked at' },
  codergen: { shape: 'box', does: 'an LLM session with tools' },
  prompt: { shape: 'tab', does: 'one answer of a model, without tools' },
  'wait.human': { shape: 'hexagon', does: 'a decision of a person' },
  conditional: { shape: 'diamond', does: 'nothing itself; its edges decide' },
  parallel: { shape: 'component', does: 'runs each outgoing edge as a branch' },
  'parallel.fan_in': { shape: 'tripleoctagon', does: 'chooses among the results of branches' },
  tool: { shape: 'parallelogram', does: 'a shell command' },
  wait: { shape: 'insulator', does: 'waits for a duration' },
  'stack.manager_loop': { shape: 'house', does: 'runs a child pipeline and looks after it' },
  pipeline: { shape: 'folder', does: 'another pipeline as one step' },
} as const

export type Handler = keyof typeof HANDLERS

const BY_SHAPE: ReadonlyMap<string, Handler> = new Map([
  ...Object.entries(HANDLERS).map(([name, { shape }]) => [shape, name as Handler] as const),
  ['circle', 'start'],
  ['doublecircle', 'exit'],
])

/** Names of other engines for the same handlers. */
const TYPE_NAMES: Readonly<Record<string, Handler>> = {
  box: 'codergen',
  agent: 'codergen',
  llm: 'codergen',
  human: 'wait.human',
  command: 'tool',
  shell: 'tool',
  script: 'tool',
  fan_in: 'parallel.fan_in',
  manager_loop: 'stack.manager_loop',
  subgraph: 'pipeline',
  folder: 'pipeline',
}

/** Undefined for a shape that no handler has. */
export function handlerOf(node: PipelineNode): Handler | undefined {
  const type = textOf(node.attributes, 'type')
  const byType = type === undefined ? undefined : typeNamed(type)
  if (byType !== undefined) return byType
  const id = node.id.toLowerCase()
  if (id === 'start') return 'start'
  if (id === 'exit' || id === 'end') return 'exit'
  return BY_SHAPE.get(textOf(node.attributes, 'shape') ?? 'box')
}

export function typeNamed(type: string): Handler | undefined {
  if (Object.hasOwn(HANDLERS, type)) return type as Handler
  return Object.hasOwn(TYPE_NAMES, type) ? TYPE_NAMES[type] : undefined
}

export const SHAPES: readonly string[] = [...BY_SHAPE.keys()]

export function shapesOf(handler: Handler): string[] {
  return SHAPES.filter((shape) => BY_SHAPE.get(shape) === handler)
}

/** The values of `type` that name it, its own first. */
export function typesOf(handler: Handler): string[] {
  return [handler, ...Object.keys(TYPE_NAMES).filter((name) => TYPE_NAMES[name] === handler)]
}
