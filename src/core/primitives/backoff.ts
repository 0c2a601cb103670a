/** The pause after so many failed tries: `leastMs` after none, twice as long after each, at most `mostMs`. */
export function backoffMs(tries: number, leastMs: number, mostMs: number): number {
  return Math.min(mostMs, leastMs * 2 ** tries)
}
