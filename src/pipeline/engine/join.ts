/** Where the branches of a parallel node meet (docs/pipelines.md, Parallel branches). */
import { type Flow, targetsOf } from '../check/flow.ts'

/** The nearest node that all branches reach, a fan-in first. Undefined where they do not meet. */
export function joinOf(flow: Flow, id: string): string | undefined {
  const branches = [...new Set(targetsOf(flow.outgoing, id))]
  if (branches.length === 0) return undefined
  const distances = branches.map((from) => distancesFrom(flow, from))
  const [first = new Map<string, number>()] = distances
  const candidates = [...first.keys()].filter((node) => node !== id && distances.every((one) => one.has(node)))
  const farthest = (node: string) => Math.max(...distances.map((one) => one.get(node) ?? 0))
  const isFanIn = (node: string) => (flow.handlers.get(node) === 'parallel.fan_in' ? 0 : 1)
  return candidates.toSorted(
    (one, other) => isFanIn(one) - isFanIn(other) || farthest(one) - farthest(other) || (one < other ? -1 : 1),
  )[0]
}

function distancesFrom(flow: Flow, from: string): Map<string, number> {
  const found = new Map([[from, 0]])
  for (const [id, distance] of found) {
    for (const to of targetsOf(flow.outgoing, id)) if (!found.has(to)) found.set(to, distance + 1)
  }
  return found
}
