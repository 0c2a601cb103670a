/** The figures of the bench and how they are judged: {@link file://./main.ts} prints them, the parts provide the samples. Pure. */

export interface FigureSpec {
  name: string
  /** The name of the bare counterpart, measured in the same run. */
  against: string
  /** `most`: a ratio of times, ours to the bare one's. `least`: a ratio of speeds. */
  goal: { most: number } | { least: number }
  /** What the table shows where a run has two times: ours minus the bare one's. Without it, their ratio. */
  isDifference?: true
  /** The unit of a plain value or a difference; a ratio has none. */
  unit?: 'ms' | 'MiB' | 'KiB' | '%' | 'events' | 'processes' | 'instances'
}

/** One measurement: two times of one run, or a single value. */
export type Sample = { figure: string; ours: number; bare: number } | { figure: string; value: number }

export interface Part {
  figures: readonly FigureSpec[]
  /** How many fresh processes measure it. */
  rounds: number
  /** Measures once, in a process of its own. Throws {@link Unavailable} where this machine cannot. */
  round: () => Promise<Sample[]>
}

/** This machine cannot measure the part; the table shows the reason. */
export class Unavailable extends Error {}

export interface Figure extends FigureSpec {
  part: string
  runs: number[]
  median: number
  least: number
  most: number
  isMet: boolean
}

export function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle) - 1] ?? Number.NaN)) / 2
}

/** One number for each run. */
export function toFigure(part: string, spec: FigureSpec, rounds: readonly (readonly Sample[])[]): Figure {
  const runs = rounds.map((samples) => {
    const own = samples.filter(({ figure }) => figure === spec.name)
    return round3(medianOf(own.map((sample) => numberOf(spec, sample))))
  })
  const median = round3(medianOf(runs))
  const isMet = 'most' in spec.goal ? median <= spec.goal.most : median >= spec.goal.least
  return { part, ...spec, runs, median, least: Math.min(...runs), most: Math.max(...runs), isMet }
}

function numberOf({ goal, isDifference }: FigureSpec, sample: Sample): number {
  if ('value' in sample) return sample.value
  if (isDifference) return sample.ours - sample.bare
  return 'most' in goal ? sample.ours / sample.bare : sample.bare / sample.ours
}

function round3(value: number): number {
  return Math.round(value * 1_000) / 1_000
}

export type Change = 'better' | 'worse' | 'as before' | 'new'

/** How far the closest runs of two results must differ to be more than the noise of a shared machine. */
const NOISE = 1.25
/** The same for differences, which may be close to zero or negative. */
const NOISE_MS = 1

export function compare(now: Figure, before: Figure | undefined): Change {
  if (before === undefined) return 'new'
  const isClear = (low: number, high: number) => (now.isDifference ? low + NOISE_MS < high : low * NOISE < high)
  const isLower = isClear(now.most, before.least)
  const isHigher = isClear(before.most, now.least)
  if (!isLower && !isHigher) return 'as before'
  return isLower === 'most' in now.goal ? 'better' : 'worse'
}

/** Runs two measurements alternately, so that other load affects both. */
export async function inTurn(
  figure: string,
  times: number,
  ours: () => Promise<number> | number,
  bare: () => Promise<number> | number,
): Promise<Sample[]> {
  const samples: Sample[] = []
  for (let n = 0; n < times; n += 1) {
    const bareFirst = n % 2 === 0 ? await bare() : undefined
    const own = await ours()
    samples.push({ figure, ours: own, bare: bareFirst ?? (await bare()) })
  }
  return samples
}
