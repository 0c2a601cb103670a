/** Decides which runs that have ended this browser keeps, and whether what it kept is the run that the server has now. Pure. */

/** One kept run; its events are in pages beside it. */
export interface KeptRun {
  id: string
  /** When the instance was created: another home at the same address may have given the id again. */
  created: string
  /** The number of its last event. */
  last: number
  /** The length of its pages together, in characters. */
  chars: number
  /** When it was shown last, in milliseconds. */
  used: number
}

export interface KeptPage {
  id: string
  /** The number of its first event. */
  first: number
  /** A JSON list of envelopes. */
  text: string
}

/** Characters of one run: a longer one is read from the server at each visit. */
export const RUN_MAX_CHARS = 24 * 1024 * 1024
export const ALL_MAX_CHARS = 96 * 1024 * 1024
export const RUNS_MAX = 50
/** Events of one page. */
export const PAGE_EVENTS = 2_000

/** The runs that make room for the others: those that were shown longest ago. */
export function runsToForget(runs: readonly KeptRun[]): string[] {
  let chars = 0
  let count = 0
  return runs
    .toSorted((one, other) => other.used - one.used)
    .filter((run) => {
      const isTooMuch = count >= RUNS_MAX || chars + run.chars > ALL_MAX_CHARS
      if (isTooMuch) return true
      count += 1
      chars += run.chars
      return false
    })
    .map(({ id }) => id)
}

/** The envelopes of a run, first to last; undefined where the pages are not whole, or not of the run that the server has. */
export function eventsOf<T>(
  run: KeptRun | undefined,
  pages: readonly KeptPage[],
  now: { created: string; last: number },
): T[] | undefined {
  if (run === undefined || run.created !== now.created || run.last !== now.last) return undefined
  const events: T[] = []
  for (const { first, text } of pages) {
    if (first !== events.length + 1) return undefined
    const some = parsedList(text)
    if (some === undefined) return undefined
    for (const one of some) events.push(one as T)
  }
  return events.length === run.last ? events : undefined
}

function parsedList(text: string): unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}
