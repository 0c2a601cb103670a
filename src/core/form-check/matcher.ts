/**
 * Runs the patterns of a form so that none can block the host: every match has a time limit (R34; threats WEB-9). form-check.ts
 * and the terminal's forms pass it to `validate`.
 */
import { type Context, createContext, Script } from 'node:vm'
import { systemCode } from '../errors.ts'
import { patternRegExp } from '../forms/pattern.ts'
import type { Matcher } from '../forms/validate.ts'
import { PATTERN_FORM_LIMIT_MS, PATTERN_LIMIT_MS, PATTERN_VALUE_MAX_CHARS } from '../limits.ts'

const KNOWN_PATTERNS_MAX = 500
/** How often a pattern is tried again that ran out of time because the machine was busy. */
const TRIES_MAX = 3

/** Compiled patterns by source; undefined for one that cannot run. Limited in number; the oldest is dropped first. */
const known = new Map<string, RegExp | undefined>()

/**
 * A matcher with its own time budget: make one for each form that is validated. These count as no match: a pattern that runs
 * for 50 ms, every pattern after the form has used 250 ms, a value over 64 KiB.
 */
export function boundedMatcher(): Matcher {
  // Reading the clock is cheap, so it measures the first half of the budget. The second half is measured as processor time.
  const half = PATTERN_FORM_LIMIT_MS / 2
  let beganAt: number | undefined
  let later: NodeJS.CpuUsage | undefined
  return (pattern, value) => {
    if (value.length > PATTERN_VALUE_MAX_CHARS) return false
    const now = performance.now()
    beganAt ??= now
    if (now - beganAt >= half) later ??= process.threadCpuUsage()
    const left = later === undefined ? PATTERN_FORM_LIMIT_MS : half - ranMs(later)
    return left > 0 && search(pattern, value, Math.ceil(Math.min(left, PATTERN_LIMIT_MS)))
  }
}

function search(pattern: string, value: string, limitMs: number): boolean {
  const expression = compiled(pattern)
  if (expression === undefined) return false
  try {
    return guarded(expression, value, limitMs)
  } catch {
    // The match took too long, or the value is too large for the engine: the check fails in both cases (R34).
    return false
  }
}

function compiled(pattern: string): RegExp | undefined {
  if (known.has(pattern)) return known.get(pattern)
  const expression = patternRegExp(pattern)
  const [oldest] = known.keys()
  if (known.size >= KNOWN_PATTERNS_MAX && oldest !== undefined) known.delete(oldest)
  known.set(pattern, expression)
  return expression
}

/** The processor time of this thread since `before`, which does not grow while other processes keep the machine busy. */
function ranMs(before: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}

let room: { context: Context; run: Script } | undefined

/** The context receives only expressions and texts, never an author's code. */
function guarded(expression: RegExp, value: string, limitMs: number): boolean {
  room ??= { context: createContext({}), run: new Script('expression.test(value)') }
  const { context, run } = room
  Object.assign(context, { expression, value })
  try {
    for (let tries = 1; ; tries += 1) {
      const before = process.threadCpuUsage()
      try {
        return run.runInContext(context, { timeout: limitMs }) === true
      } catch (error) {
        // The time limit is wall-clock time: on a busy machine the pattern may hardly have run.
        const hasRun = ranMs(before) > limitMs / 2
        if (hasRun || tries === TRIES_MAX || systemCode(error) !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
      }
    }
  } finally {
    Object.assign(context, { expression: undefined, value: undefined })
  }
}
