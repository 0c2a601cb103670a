/**
 * The patterns of `regex`: JavaScript syntax with the `u` flag, or without it where only that is legal (R54), plus Python's
 * spelling of named groups (R34).
 * parse-condition.ts and matchers call it.
 */
import { PATTERN_MAX_CHARS, PATTERN_MAX_COSTLY_ESCAPES } from '../limits.ts'

/** Matches escapes and character classes too, so that only real groups are translated. */
const PYTHON_GROUPS = /\\[\s\S]|\[(?:\\[\s\S]|[^\]\\])*\]|\(\?P<|\(\?P=([^)]*)\)/g
const POSIX_CLASS = /\[\[:\^?[a-z]+:\]/
const PYTHON_ANCHOR = /^\\[AZz]$/
const ESCAPE = /\\[\s\S]/g
const COSTLY_ESCAPE = /^\\[pPbB]$/

/** The source for `new RegExp`: `(?P<n>…)` becomes `(?<n>…)`, `(?P=n)` becomes `\k<n>`. */
export function patternSource(pattern: string): string {
  return pattern.replace(PYTHON_GROUPS, (token, name: string | undefined) => {
    if (token === '(?P<') return '(?<'
    return name === undefined ? token : `\\k<${name}>`
  })
}

/** What is wrong with a pattern, or undefined. Does not run it: only the bounded matcher does. */
export function patternFault(pattern: string): string | undefined {
  if (pattern.length > PATTERN_MAX_CHARS) return `the pattern is longer than ${PATTERN_MAX_CHARS} characters`
  // JavaScript reads these as literal letters, so they would never match as intended.
  if (POSIX_CLASS.test(pattern)) return 'the pattern has a POSIX class like [[:alpha:]]; write \\p{L}, \\d or \\s'
  const anchor = (pattern.match(ESCAPE) ?? []).find((token) => PYTHON_ANCHOR.test(token))
  if (anchor !== undefined) {
    return `the pattern has ${anchor}, which JavaScript reads as the letter ${anchor[1]}; write ${anchor === '\\A' ? '^' : '$'}`
  }
  if (costlyEscapes(pattern) > PATTERN_MAX_COSTLY_ESCAPES) {
    return `the pattern has more than ${PATTERN_MAX_COSTLY_ESCAPES} of \\p, \\P, \\b and \\B`
  }
  const source = patternSource(pattern)
  const fault = syntaxFault(source, 'u')
  // Of a pattern that is legal in no reading, the fault of the stricter one is told.
  if (fault === undefined || syntaxFault(source, '') === undefined) return undefined
  return `the pattern is not a JavaScript regular expression (${fault})`
}

function syntaxFault(source: string, flags: 'u' | ''): string | undefined {
  try {
    new RegExp(source, flags)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message.replace(/^.*\/u?: /s, '') : ''
  }
}

/**
 * The expression whose `test` says whether the pattern occurs anywhere in a value (R34); undefined for a faulty pattern. The
 * search is written into the expression instead of left to the engine: V8 needs 20 seconds to compile eight `\P{Cn}` in a row
 * without an anchor, and no time limit can interrupt that; behind `^` it needs milliseconds.
 */
export function patternRegExp(pattern: string): RegExp | undefined {
  if (patternFault(pattern) !== undefined) return undefined
  const source = patternSource(pattern)
  const flags = syntaxFault(source, 'u') === undefined ? 'u' : ''
  return new RegExp(`^[^]*?(?:${source})`, flags)
}

/** Escapes that each take milliseconds to compile, which no time limit can interrupt. */
export function costlyEscapes(pattern: string): number {
  return (pattern.match(ESCAPE) ?? []).filter((token) => COSTLY_ESCAPE.test(token)).length
}
