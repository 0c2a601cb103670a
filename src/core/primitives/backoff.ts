/** The pause after a number of failed tries: `leastMs` after the first, doubled after each further one, at most `mostMs`. */
export function backoffMs(tries: number, leastMs: number, mostMs: number): number {
  return Math.min(mostMs, leastMs * 2 ** tries)
}
