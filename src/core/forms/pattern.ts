/** The patterns of `regex`: JavaScript `u` syntax, with Python's spelling of named groups (R34). */
import { PATTERN_MAX_CHARS, PATTERN_MAX_COSTLY_ESCAPES } from '../limits.ts'

/** An escape and a character class are stepped over, so that only real groups are translated. */
const PYTHON_GROUPS = /\\[\s\S]|\[(?:\\[\s\S]|[^\]\\])*\]|\(\?P<|\(\?P=([^)]*)\)/g
const POSIX_CLASS = /\[\[:\^?[a-z]+:\]/
const ESCAPE = /\\[\s\S]/g
const COSTLY_ESCAPE = /^\\[pPbB]$/

/** The source for `new RegExp(source, 'u')`: `(?P<n>…)` becomes `(?<n>…)`, `(?P=n)` becomes `\k<n>`. */
export function patternSource(pattern: string): string {
  return pattern.replace(PYTHON_GROUPS, (token, name: string | undefined) => {
    if (token === '(?P<') return '(?<'
    return name === undefined ? token : `\\k<${name}>`
  })
}

/** What is wrong with a pattern, or undefined. Only reads it: running it is the bounded matcher's affair. */
export function patternFault(pattern: string): string | undefined {
  if (pattern.length > PATTERN_MAX_CHARS) return `the pattern is longer than ${PATTERN_MAX_CHARS} characters`
  // JavaScript reads these as something else and never matches.
  if (POSIX_CLASS.test(pattern)) return 'the pattern has a POSIX class like [[:alpha:]]; write \\p{L}, \\d or \\s'
  if (costlyEscapes(pattern) > PATTERN_MAX_COSTLY_ESCAPES) {
    return `the pattern has more than ${PATTERN_MAX_COSTLY_ESCAPES} of \\p, \\P, \\b and \\B`
  }
  try {
    new RegExp(patternSource(pattern), 'u')
    return undefined
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^.*\/u: /s, '') : ''
    return `the pattern is not a JavaScript regular expression (${reason})`
  }
}

/**
 * The expression whose `test` says whether the pattern is found anywhere in a value (R34); undefined for a faulty one.
 *
 * The search is spelled out instead of left to the engine: V8 compiles an unanchored row of eight `\P{Cn}` for 20
 * seconds, out of reach of any time limit, and the same row behind `^` in milliseconds.
 */
export function patternRegExp(pattern: string): RegExp | undefined {
  if (patternFault(pattern) !== undefined) return undefined
  return new RegExp(`^[^]*?(?:${patternSource(pattern)})`, 'u')
}

/** Escapes that take milliseconds each to compile, which no time limit interrupts. */
export function costlyEscapes(pattern: string): number {
  return (pattern.match(ESCAPE) ?? []).filter((token) => COSTLY_ESCAPE.test(token)).length
}
