/** A checked view of a graph that rules and engine share: handlers, edges by node, the mode in which it runs. */
import type { PipelineEdge, PipelineGraph, PipelineNode } from '../language/graph.ts'
import { textOf } from '../language/graph.ts'
import { type Handler, handlerOf } from '../language/handlers.ts'

/** `walk`: from the start, one edge at a time. `dataflow`: each node when all before it are done. */
export type Mode = 'walk' | 'dataflow'

export interface Flow {
  graph: PipelineGraph
  mode: Mode
  /** Undefined for a shape that no handler has. */
  handlers: ReadonlyMap<string, Handler | undefined>
  outgoing: ReadonlyMap<string, readonly PipelineEdge[]>
  incoming: ReadonlyMap<string, readonly PipelineEdge[]>
  starts: readonly string[]
  exits: readonly string[]
}

export function flowOf(graph: PipelineGraph): Flow {
  const handlers = new Map([...graph.nodes.values()].map((node) => [node.id, handlerOf(node)]))
  const outgoing = new Map<string, PipelineEdge[]>([...graph.nodes.keys()].map((id) => [id, []]))
  const incoming = new Map<string, PipelineEdge[]>([...graph.nodes.keys()].map((id) => [id, []]))
  for (const edge of graph.edges) {
    outgoing.get(edge.from)?.push(edge)
    incoming.get(edge.to)?.push(edge)
  }
  const called = (name: Handler) => [...handlers].filter(([, handler]) => handler === name).map(([id]) => id)
  const [starts, exits] = [called('start'), called('exit')]
  const hasSession = [...graph.nodes.values()].some((node) => textOf(node.attributes, 'session') !== undefined)
  const isDataflow =
    starts.length === 0 && exits.length === 0 && hasSession && cycleIn(graph.nodes, outgoing) === undefined
  return { graph, mode: isDataflow ? 'dataflow' : 'walk', handlers, outgoing, incoming, starts, exits }
}

/** All that edges lead to from `from`, which is among them. */
export function reachableFrom(from: Iterable<string>, next: (id: string) => Iterable<string>): Set<string> {
  const found = new Set(from)
  for (const id of found) for (const to of next(id)) found.add(to)
  return found
}

export function targetsOf(outgoing: Flow['outgoing'], id: string): string[] {
  return (outgoing.get(id) ?? []).map(({ to }) => to)
}

/** The nodes of a cycle, in its order; undefined where there is none. */
export function cycleIn(
  nodes: ReadonlyMap<string, PipelineNode>,
  outgoing: Flow['outgoing'],
): readonly string[] | undefined {
  const done = new Set<string>()
  for (const root of nodes.keys()) {
    const path: string[] = []
    const onPath = new Set<string>()
    const stack: { id: string; left: string[] }[] = []
    const enter = (id: string) => {
      path.push(id)
      onPath.add(id)
      stack.push({ id, left: targetsOf(outgoing, id) })
    }
    if (!done.has(root)) enter(root)
    while (stack.length > 0) {
      const top = stack.at(-1) as { id: string; left: string[] }
      const next = top.left.pop()
      if (next === undefined) {
        stack.pop()
        path.pop()
        onPath.delete(top.id)
        done.add(top.id)
      } else if (onPath.has(next)) return path.slice(path.indexOf(next))
      else if (!done.has(next)) enter(next)
    }
  }
  return undefined
}

/** The nodes of each cycle, and of cycles that share nodes together; in the order of the source. Each node and edge is looked at once. */
export function cyclesIn({ graph, outgoing }: Flow): ReadonlySet<string>[] {
  // Tarjan's strongly connected components, without recursion: a chain may have 2,000 nodes.
  const order = new Map<string, number>()
  const low = new Map<string, number>()
  const open: string[] = []
  const isOpen = new Set<string>()
  const found: Set<string>[] = []
  const lower = (id: string, to: number) => low.set(id, Math.min(low.get(id) as number, to))
  for (const root of graph.nodes.keys()) {
    const stack: { id: string; left: string[] }[] = []
    const enter = (id: string) => {
      low.set(id, order.size)
      order.set(id, order.size)
      open.push(id)
      isOpen.add(id)
      stack.push({ id, left: targetsOf(outgoing, id) })
    }
    if (!order.has(root)) enter(root)
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const { id, left } = top
      const next = left.pop()
      if (next !== undefined) {
        if (!order.has(next)) enter(next)
        else if (isOpen.has(next)) lower(id, order.get(next) as number)
        continue
      }
      stack.pop()
      const below = stack.at(-1)
      if (below !== undefined) lower(below.id, low.get(id) as number)
      if (low.get(id) !== order.get(id)) continue
      const members = open.splice(open.lastIndexOf(id))
      for (const one of members) isOpen.delete(one)
      if (members.length > 1 || targetsOf(outgoing, id).includes(id)) found.push(new Set(members))
    }
  }
  const place = new Map([...graph.nodes.keys()].map((id, index) => [id, index]))
  const inOrder = (one: string, other: string) => (place.get(one) as number) - (place.get(other) as number)
  const sorted = found.map((members) => new Set([...members].toSorted(inOrder)))
  const firstOf = (members: ReadonlySet<string>) => place.get(members.values().next().value as string) as number
  return sorted.toSorted((one, other) => firstOf(one) - firstOf(other))
}
