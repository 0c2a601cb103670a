/** What differs between two runs: fields of the input, phases with their durations, sums, output. Pure. */
import type { Payload } from '../../../core/protocol/form.ts'
import type { Story } from '../../../core/view/story.ts'

export interface Pair {
  name: string
  /** null: not there. */
  left: string | null
  right: string | null
  isSame: boolean
}

export function pairOf(name: string, left: string | null, right: string | null): Pair {
  return { name, left, right, isSame: left === right }
}

/** Every field of either input; those that differ come first. */
export function inputPairs(left: Payload, right: Payload): Pair[] {
  const names = [...new Set([...Object.keys(left), ...Object.keys(right)])]
  const pairs = names.map((name) => pairOf(name, wordsOf(left, name), wordsOf(right, name)))
  return [...pairs.filter(({ isSame }) => !isSame), ...pairs.filter(({ isSame }) => isSame)]
}

function wordsOf(input: Payload, name: string): string | null {
  if (!Object.hasOwn(input, name)) return null
  const value = input[name]
  return typeof value === 'string' ? value : JSON.stringify(value)
}

export interface PhaseTime {
  name: string
  ms: number
}

/** How long each phase took in all; a phase that was entered twice counts once. `now`: for a run that goes on. */
export function phaseTimes({ phases, endedAt }: Pick<Story, 'phases' | 'endedAt'>, now: number): PhaseTime[] {
  const end = endedAt === null ? now : Date.parse(endedAt)
  const times = new Map<string, number>()
  for (const [at, { name, at: began }] of phases.entries()) {
    const next = phases[at + 1]
    const ms = Math.max(0, (next === undefined ? end : Date.parse(next.at)) - Date.parse(began))
    times.set(name, (times.get(name) ?? 0) + ms)
  }
  return [...times].map(([name, ms]) => ({ name, ms }))
}

/** The phases of both, in the order of the left run; those that only the right one has come last. */
export function phasePairs(
  left: readonly PhaseTime[],
  right: readonly PhaseTime[],
  textOf: (ms: number) => string,
): Pair[] {
  const names = [...new Set([...left, ...right].map(({ name }) => name))]
  const of = (times: readonly PhaseTime[], wanted: string) => {
    const found = times.find(({ name }) => name === wanted)
    return found === undefined ? null : textOf(found.ms)
  }
  return names.map((name) => pairOf(name, of(left, name), of(right, name)))
}
