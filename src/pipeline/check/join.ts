/** Where the branches of a parallel node meet (docs/pipelines.md, Parallel branches). Rules and engine call it. */
import { textOf } from '../language/graph.ts'
import { type Flow, targetsOf } from './flow.ts'

/** The first nodes of its branches, in the order of the edges. An edge with a condition is none: it is looked at after the branches. */
export function branchesOf(flow: Flow, id: string): string[] {
  const join = joinOf(flow, id)
  return startsOf(flow, id).filter((start) => start !== join)
}

const known = new WeakMap<Flow, Map<string, string | undefined>>()

/** The nearest node that all branches reach; their own fan-in before others, the exit last. Undefined where they do not meet. */
export function joinOf(flow: Flow, id: string): string | undefined {
  const joins = known.get(flow) ?? new Map<string, string | undefined>()
  known.set(flow, joins)
  if (!joins.has(id)) joins.set(id, findJoin(flow, id))
  return joins.get(id)
}

function startsOf({ outgoing }: Flow, id: string): string[] {
  const plain = (outgoing.get(id) ?? []).filter(
    ({ attributes }) => (textOf(attributes, 'condition') ?? '').trim() === '',
  )
  return [...new Set(plain.map(({ to }) => to))]
}

function findJoin(flow: Flow, id: string): string | undefined {
  const others = [...flow.handlers].filter(([one, handler]) => handler === 'parallel' && one !== id)
  const first = nearest(flow, id, () => true)
  if (first === undefined || flow.handlers.get(first) !== 'parallel.fan_in') return first
  // Within the branches of another parallel node, the fan-in is that one's, and these meet before it where they can.
  const isOfAnother = others.some(
    ([other]) =>
      nearest(flow, other, () => true) === first && distancesFrom(flow, startsOf(flow, other), other, first).has(id),
  )
  return isOfAnother ? nearest(flow, id, (node) => node !== first) : first
}

function nearest(flow: Flow, id: string, isOwn: (fanIn: string) => boolean): string | undefined {
  const starts = startsOf(flow, id)
  const distances = starts.map((from) => distancesFrom(flow, [from], id))
  const [first = new Map<string, number>()] = distances
  const farthest = (node: string) => Math.max(...distances.map((one) => one.get(node) ?? 0))
  const common = [...first.keys()].filter((node) => distances.every((one) => one.has(node)))
  const isA = (handler: string) => (node: string) => flow.handlers.get(node) === handler
  // A fan-in that is only reached by another parallel node, which they all reach, is that one's.
  const later = common.filter(isA('parallel')).map((node) => distancesFrom(flow, starts, id, node))
  const isTheirs = (node: string) =>
    isA('parallel.fan_in')(node) && isOwn(node) && later.every((without) => without.has(node))
  const rank = (node: string) => (isTheirs(node) ? 0 : isA('exit')(node) ? 2 : 1)
  return common.toSorted(
    (one, other) => rank(one) - rank(other) || farthest(one) - farthest(other) || (one < other ? -1 : 1),
  )[0]
}

/** Of all that is reached without coming by `id` or `without`. */
function distancesFrom(flow: Flow, from: readonly string[], id: string, without?: string): Map<string, number> {
  const found = new Map(from.filter((one) => one !== id && one !== without).map((one) => [one, 0]))
  for (const [at, distance] of found) {
    for (const to of targetsOf(flow.outgoing, at))
      if (!found.has(to) && to !== id && to !== without) found.set(to, distance + 1)
  }
  return found
}
