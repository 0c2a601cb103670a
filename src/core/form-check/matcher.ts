/** Runs a form's patterns so that none can hold the host (R34; threats WEB-9): questions.ts and the platform hand it to `validate`. */
import { type Context, createContext, Script } from 'node:vm'
import { systemCode } from '../errors.ts'
import { patternRegExp, patternSource } from '../forms/pattern.ts'
import type { Matcher } from '../forms/validate.ts'
import { PATTERN_FORM_LIMIT_MS, PATTERN_LIMIT_MS, PATTERN_VALUE_MAX_CHARS } from '../limits.ts'
import { type PatternShape, patternCost, patternShape } from './pattern-cost.ts'

/** A few milliseconds of matching, far below the limit of a pattern: run without a watchdog. */
const HARMLESS_STEPS = 1_000_000
/** So many steps of harmless patterns a form has without a look at the clock, which costs more than most of them: well below a millisecond. */
const UNTIMED_STEPS = 50_000
const KNOWN_PATTERNS_MAX = 500
/** How often a pattern that was kept from running is tried. */
const TRIES_MAX = 3

interface KnownPattern {
  /** undefined where the pattern can't be run at all. */
  expression: RegExp | undefined
  /** undefined where the steps it takes can't be told beforehand. */
  shape: PatternShape | undefined
  /** The longest value it is known to be harmless on, and the steps it takes there at most: they only grow with the length. */
  harmlessUpTo: number
  harmlessSteps: number
}

/** Bounded by its number; the oldest goes first. */
const known = new Map<string, KnownPattern>()

/**
 * A matcher with a time budget of its own: make one for each form that is validated. A pattern that runs for 50 ms, any
 * pattern once the form has used up 250 ms, and a value over 64 KiB do not match.
 */
export function boundedMatcher(): Matcher {
  // The first half of the budget is told by the clock, which costs next to nothing; the second by the time that really ran.
  const half = PATTERN_FORM_LIMIT_MS / 2
  let beganAt: number | undefined
  let later: NodeJS.CpuUsage | undefined
  let free = UNTIMED_STEPS
  return (pattern, value) => {
    if (value.length > PATTERN_VALUE_MAX_CHARS) return false
    const known = know(pattern)
    // Once one was timed all are: a spent budget fails whatever follows (R34).
    if (beganAt === undefined && value.length <= known.harmlessUpTo && known.harmlessSteps <= free) {
      free -= known.harmlessSteps
      return search(known, value, PATTERN_FORM_LIMIT_MS)
    }
    const now = performance.now()
    beganAt ??= now
    if (now - beganAt >= half) later ??= process.threadCpuUsage()
    const left = later === undefined ? PATTERN_FORM_LIMIT_MS : half - ranMs(later)
    return left > 0 && search(known, value, left)
  }
}

function search(pattern: KnownPattern, value: string, left: number): boolean {
  const { expression } = pattern
  if (expression === undefined) return false
  try {
    if (isHarmless(pattern, value.length)) return expression.test(value)
    return watched(expression, value, Math.ceil(Math.min(left, PATTERN_LIMIT_MS)))
  } catch {
    // It took too long, or is too large for the engine: either way the check fails (R34).
    return false
  }
}

function isHarmless(pattern: KnownPattern, length: number): boolean {
  if (length <= pattern.harmlessUpTo) return true
  if (pattern.shape === undefined) return false
  const steps = patternCost(pattern.shape, length, HARMLESS_STEPS)
  if (steps > HARMLESS_STEPS) return false
  pattern.harmlessUpTo = length
  pattern.harmlessSteps = steps
  return true
}

function know(pattern: string): KnownPattern {
  const before = known.get(pattern)
  if (before !== undefined) return before
  const expression = patternRegExp(pattern)
  const learnt = {
    expression,
    shape: expression && patternShape(patternSource(pattern)),
    harmlessUpTo: -1,
    harmlessSteps: 0,
  }
  const [oldest] = known.keys()
  if (known.size >= KNOWN_PATTERNS_MAX && oldest !== undefined) known.delete(oldest)
  known.set(pattern, learnt)
  return learnt
}

/** The time this thread ran, which a crowded machine does not stretch. */
function ranMs(before: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}

let room: { context: Context; run: Script } | undefined

/** Only expressions and texts enter the context, never code of an author. */
function watched(expression: RegExp, value: string, limitMs: number): boolean {
  room ??= { context: createContext({}), run: new Script('expression.test(value)') }
  const { context, run } = room
  Object.assign(context, { expression, value })
  try {
    for (let tries = 1; ; tries += 1) {
      const before = process.threadCpuUsage()
      try {
        return run.runInContext(context, { timeout: limitMs }) === true
      } catch (error) {
        // The watchdog counts the time of the clock: on a crowded machine the pattern may hardly have run.
        const hasRun = ranMs(before) > limitMs / 2
        if (hasRun || tries === TRIES_MAX || systemCode(error) !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
      }
    }
  } finally {
    Object.assign(context, { expression: undefined, value: undefined })
  }
}
