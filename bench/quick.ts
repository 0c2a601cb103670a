/** The sizes of the bench: `--quick` runs every part once with small ones. The parts call it. */

const IS_QUICK = process.env['RESOLVE_BENCH_QUICK'] === '1'

/** Chooses one of two sizes. */
export function sized<T>(full: T, quick: T): T {
  return IS_QUICK ? quick : full
}
