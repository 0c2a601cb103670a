/** Finds the closest known word, for "did you mean" sentences. */

const MOST_EDITS = 2

/** The candidate at most two edits away (and fewer than half the word's length), or undefined. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined
  let fewest = Math.min(MOST_EDITS, Math.ceil(word.length / 2) - 1) + 1
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) >= fewest) continue
    const edits = distance(word, candidate)
    if (edits < fewest) {
      best = candidate
      fewest = edits
    }
  }
  return best
}

/** Levenshtein distance, one row at a time. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
