/** I10: whatever an instance does, its host stays small and answers (reliability, Invariants). {@link file://./measured-server.ts} measures it. */
import type { Report } from './invariants.ts'
import type { Lateness } from './pulse.ts'

/** What one process holds at a moment. */
export interface Held {
  rssBytes: number
  fds: number
  threads: number
  inotifyInstances: number
  inotifyWatches: number
}

export interface HostUse extends Lateness {
  before: Held
  /** The most of each that was seen meanwhile. */
  peak: Held
  /** Where nothing else goes on any more: what must be given back then. */
  after?: Held
  /** Bounds of this run, where it may use less than any may. */
  limits?: Partial<Held>
}

const DELAY_P99_MAX_MS = 200
/** Of fewer, a hundredth is less than one. The whole time of several attacks is judged beside each. */
const BEATS_MIN = 500
const COMPUTED_MAX_MS = 500

/** How much more than before it may hold while attacks go on, several at once. */
const GROWTH_MAX: Held = {
  rssBytes: 256 * 1024 * 1024,
  fds: 256,
  threads: 16,
  inotifyInstances: 32,
  inotifyWatches: 256,
}

/** How much more it may hold when all is over: connections that are kept alive, and what was loaded late. */
const REST_MAX: Omit<Held, 'rssBytes'> = { fds: 24, threads: 8, inotifyInstances: 2, inotifyWatches: 4 }

export function checkHostUse({ before, peak, after, limits, ...lateness }: HostUse, report: Report): void {
  const { delayP99Ms: p99, beats, computedMaxMs: computed } = lateness
  if (beats >= BEATS_MIN && p99 >= DELAY_P99_MAX_MS) report('I10', `the event loop was ${p99.toFixed(0)} ms late`)
  if (computed >= COMPUTED_MAX_MS) report('I10', `it computed for ${computed.toFixed(0)} ms without looking up`)
  for (const [what, most] of Object.entries({ ...GROWTH_MAX, ...limits }) as [keyof Held, number][]) {
    if (peak[what] - before[what] > most) report('I10', `${what} grew from ${before[what]} to ${peak[what]}`)
  }
  if (after === undefined) return
  for (const [what, most] of Object.entries(REST_MAX) as [keyof typeof REST_MAX, number][]) {
    if (after[what] - before[what] > most) report('I10', `${what} was ${before[what]} and stays ${after[what]}`)
  }
}
