/** How large the bench is: `--quick` runs every part once and small, to see that it works. The parts ask. */

const IS_QUICK = process.env['RESOLVE_BENCH_QUICK'] === '1'

/** One of two sizes of the same thing. */
export function sized<T>(full: T, quick: T): T {
  return IS_QUICK ? quick : full
}
