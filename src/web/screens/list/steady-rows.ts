/** Keeps the rows of a list in place while the user points at them, has selected some or moves through them by keys. Pure. */

interface Identified {
  instance_id: string
}

export interface SteadyRows<T> {
  rows: readonly T[]
  /** How many new ones wait to be shown. */
  held: number
}

/**
 * `shown`: the ids as they stand. While `isHeld` they keep their places, with their new content; one that has left the list goes, and new
 * ones wait. Otherwise the rows stand as they came.
 */
export function steadyRows<T extends Identified>(
  shown: readonly string[],
  fresh: readonly T[],
  isHeld: boolean,
): SteadyRows<T> {
  if (!isHeld || shown.length === 0) return { rows: fresh, held: 0 }
  const byId = new Map(fresh.map((one) => [one.instance_id, one]))
  const kept = shown.flatMap((id) => byId.get(id) ?? [])
  const known = new Set(shown)
  // Rows below the last one known belong to a page that the user asked for; they move nothing.
  const lastKnown = fresh.findLastIndex(({ instance_id: id }) => known.has(id))
  const below = fresh.slice(lastKnown + 1)
  const held = fresh.length - kept.length - below.length
  return { rows: [...kept, ...below], held }
}
