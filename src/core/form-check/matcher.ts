/**
 * Runs a form's patterns so that none can hold the host (R34): every match runs under a time limit. form-check.ts and the terminal's
 * forms hand it to `validate`.
 */
import { type Context, createContext, Script } from 'node:vm'
import { systemCode } from '../errors.ts'
import { patternRegExp } from '../forms/pattern.ts'
import type { Matcher } from '../forms/validate.ts'
import { PATTERN_FORM_LIMIT_MS, PATTERN_LIMIT_MS, PATTERN_VALUE_MAX_CHARS } from '../limits.ts'

const KNOWN_PATTERNS_MAX = 500
/** How often a pattern is tried that reached its limit because the machine was busy. */
const TRIES_MAX = 3

/** Compiled patterns, undefined for one that cannot run. Bounded by its number; the oldest goes first. */
const known = new Map<string, RegExp | undefined>()

/**
 * A matcher with a time budget of its own: make one for each form that is validated. A pattern that runs for 50 ms, any
 * pattern once the form has used up 250 ms, and a value over 64 KiB do not match.
 */
export function boundedMatcher(): Matcher {
  // The clock costs next to nothing, so it counts the first half of the budget. The second half is processor time.
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
    // It took too long, or is too large for the engine: either way the check fails (R34).
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

/** The processor time of this thread since `before`: a busy machine does not stretch it. */
function ranMs(before: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}

let room: { context: Context; run: Script } | undefined

/** Only expressions and texts enter the context, never code of an author. */
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
        // The time limit counts by the clock: on a busy machine the pattern may hardly have run.
        const hasRun = ranMs(before) > limitMs / 2
        if (hasRun || tries === TRIES_MAX || systemCode(error) !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
      }
    }
  } finally {
    Object.assign(context, { expression: undefined, value: undefined })
  }
}
