/** Finds the known word that is most similar to the given one, for "Did you mean …?". */

/** The most similar candidate; undefined if it differs by more than two letters and more than a third of the word. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  let best: { candidate: string; distance: number } | undefined
  for (const candidate of candidates) {
    const distance = lettersApart(word.toLowerCase(), candidate.toLowerCase())
    if (best === undefined || distance < best.distance) best = { candidate, distance }
  }
  if (best === undefined) return undefined
  return best.distance <= Math.max(2, Math.floor(word.length / 3)) ? best.candidate : undefined
}

/** The number of letters to insert, delete, replace or swap (optimal string alignment distance). */
function lettersApart(from: string, to: string): number {
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, at) => at)]
  for (let i = 1; i <= from.length; i += 1) {
    const row = [i]
    for (let j = 1; j <= to.length; j += 1) {
      const cost = from[i - 1] === to[j - 1] ? 0 : 1
      let least = Math.min((rows[i - 1]?.[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (rows[i - 1]?.[j - 1] ?? 0) + cost)
      const swapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]
      if (swapped) least = Math.min(least, (rows[i - 2]?.[j - 2] ?? 0) + 1)
      row.push(least)
    }
    rows.push(row)
  }
  return rows[from.length]?.[to.length] ?? 0
}
