/** "Did you mean …": the known word nearest to the one that was given. Commands, flags, the catalog and the manifest call it. */

const MOST_EDITS = 2

/** The candidate at most two edits away (and fewer than half the word), or undefined. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined
  let fewest = Math.min(MOST_EDITS, Math.ceil(word.length / 2) - 1) + 1
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) >= fewest) continue
    const edits = editsBetween(word, candidate)
    if (edits < fewest) [best, fewest] = [candidate, edits]
  }
  return best
}

/** As details of an error about an unknown name. */
export function nearestDetail(word: string, candidates: Iterable<string>): { nearest?: string } {
  const found = nearest(word, candidates)
  return found === undefined ? {} : { nearest: found }
}

/** Letters to add, drop, change or swap with their neighbour (optimal string alignment). */
export function editsBetween(from: string, to: string): number {
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, at) => at)]
  for (let i = 1; i <= from.length; i += 1) {
    const row = [i]
    for (let j = 1; j <= to.length; j += 1) {
      const cost = from[i - 1] === to[j - 1] ? 0 : 1
      let least = Math.min((rows[i - 1]?.[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (rows[i - 1]?.[j - 1] ?? 0) + cost)
      const isSwapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]
      if (isSwapped) least = Math.min(least, (rows[i - 2]?.[j - 2] ?? 0) + 1)
      row.push(least)
    }
    rows.push(row)
  }
  return rows[from.length]?.[to.length] ?? 0
}
