/**
 * Runs the patterns of a form so that none can block the host: every match has a time limit (R34; threats WEB-9). form-check.ts
 * and the terminal's forms pass it to `validate`.
 */
import { hash } from 'node:crypto'
import { type Context, createContext, Script } from 'node:vm'
import { systemCode } from '../errors.ts'
import { patternRegExp } from '../forms/pattern.ts'
import type { Matcher } from '../forms/validate.ts'
import {
  PATTERN_FORM_LIMIT_MS,
  PATTERN_LIMIT_MS,
  PATTERN_VALUE_MAX_CHARS,
  SLOW_PATTERN_LIMIT_MS,
  SLOW_PATTERNS_KEPT_MS,
} from '../limits.ts'

const KNOWN_PATTERNS_MAX = 500
/** How many values are remembered of a slow pattern. */
const SLOW_VALUES_MAX = 20
/** How often a pattern is tried again that ran out of time because the machine was busy. */
const TRIES_MAX = 3
/** As often for a slow pattern: its time is so short that a busy machine takes it more often. */
const SLOW_TRIES_MAX = 10

/** What is known of a pattern that ran out of time, in this process and for every form. */
interface Slow {
  /** When it ran out of time for the last time. */
  at: number
  /** The values with which it did, as digests. */
  values: Set<string>
}

/** Patterns that ran out of time; the one that did so last is the last. Limited in number and time. */
const slow = new Map<string, Slow>()

/** Compiled patterns by source; undefined for one that cannot run. Limited in number; the oldest is dropped first. */
const known = new Map<string, RegExp | undefined>()

/**
 * A matcher with its own time budget: make one for each form that is validated. These count as no match: a pattern that runs
 * for 50 ms, every pattern after the form has used 250 ms, a value over 64 KiB. A pattern that ran out of time gets 5 ms for
 * another value during the next minute, and none for the same value: a caller who repeats it does not hold up the others.
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
  const known = slowPattern(pattern)
  const print = known === undefined ? '' : digestOf(value)
  if (known?.values.has(print) === true) return false
  const ownMs = known === undefined ? PATTERN_LIMIT_MS : SLOW_PATTERN_LIMIT_MS
  try {
    const found = guarded(expression, value, Math.min(limitMs, ownMs), known === undefined ? TRIES_MAX : SLOW_TRIES_MAX)
    // Less time than its own shows nothing about the pattern: other patterns of the form used it.
    if (found === 'slow' && limitMs >= ownMs) noteSlow(pattern, known, print || digestOf(value))
    return found === true
  } catch {
    // The match took too long, or the value is too large for the engine: the check fails in both cases (R34).
    return false
  }
}

function slowPattern(pattern: string): Slow | undefined {
  const known = slow.get(pattern)
  if (known === undefined || performance.now() - known.at < SLOW_PATTERNS_KEPT_MS) return known
  slow.delete(pattern)
  return undefined
}

function noteSlow(pattern: string, known: Slow | undefined, print: string): void {
  const values = known?.values ?? new Set()
  const [firstValue] = values
  if (values.size >= SLOW_VALUES_MAX && firstValue !== undefined) values.delete(firstValue)
  values.add(print)
  slow.delete(pattern)
  const [oldest] = slow.keys()
  if (slow.size >= KNOWN_PATTERNS_MAX && oldest !== undefined) slow.delete(oldest)
  slow.set(pattern, { at: performance.now(), values })
}

function digestOf(value: string): string {
  return hash('sha256', value, 'base64')
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

/** The context receives only expressions and texts, never an author's code. `slow`: it used its time and did not end. */
function guarded(expression: RegExp, value: string, limitMs: number, triesMax: number): boolean | 'slow' {
  room ??= { context: createContext({}), run: new Script('expression.test(value)') }
  const { context, run } = room
  Object.assign(context, { expression, value })
  try {
    for (let tries = 1; ; tries += 1) {
      const before = process.threadCpuUsage()
      try {
        return run.runInContext(context, { timeout: limitMs }) === true
      } catch (error) {
        if (systemCode(error) !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
        // The time limit is wall-clock time: on a busy machine the pattern may hardly have run.
        if (ranMs(before) > limitMs / 2) return 'slow'
        if (tries === triesMax) return false
      }
    }
  } finally {
    Object.assign(context, { expression: undefined, value: undefined })
  }
}
