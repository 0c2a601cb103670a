/** Compares what an HTTP request got with what its step expects. Pure but for the bounded matcher. */
import { isDeepStrictEqual } from 'node:util'
import { boundedMatcher } from '../../form-check/matcher.ts'
import { JSON_MAX_DEPTH } from '../../limits.ts'
import { isWithinDepth } from '../../primitives/json-depth.ts'
import type { HttpStep, JsonExpectation, Observation } from '../../protocol/check/reality-check.ts'
import { valuesAt } from './json-path.ts'
import { cut, shown } from './told.ts'

export type HttpObservation = Extract<Observation, { kind: 'http' }>

const ERRORS: Readonly<Record<string, string>> = {
  refused: 'nothing accepts connections there',
  timeout: 'there was no whole answer in time',
  reset: 'the connection was closed before the answer was whole',
  malformed: 'the answer is not HTTP',
  too_large: 'the head of the answer is too large',
}

/** What does not fit, a sentence each; empty where everything fits. */
export function httpFaults(step: HttpStep, seen: HttpObservation): string[] {
  const { status } = seen
  if (status === null) return [`No answer: ${ERRORS[seen.error ?? ''] ?? seen.error ?? 'the request failed'}`]
  const faults = [...bodyFaults(step, seen), ...headerFaults(step, seen), ...jsonFaults(step.expected_json, seen)]
  if (!statusFits(step.expected_status, status))
    faults.unshift(`Status ${status} instead of ${step.expected_status.join(' or ')}`)
  if (seen.error !== null) faults.push(`The answer is not whole: ${ERRORS[seen.error] ?? seen.error}`)
  if (step.max_ms !== null && seen.duration_ms > step.max_ms)
    faults.push(`The answer took ${Math.round(seen.duration_ms)} ms, more than ${step.max_ms} ms`)
  return faults
}

/** The captured values of an answer; the names for which there is none. */
export function captured(step: HttpStep, seen: HttpObservation): { values: [string, string][]; missing: string[] } {
  const document = jsonOf(seen)
  const values: [string, string][] = []
  const missing: string[] = []
  for (const [name, path] of Object.entries(step.capture)) {
    const [value] = document === undefined ? [] : valuesAt(document.value, path)
    if (value === undefined || value === null) missing.push(name)
    else values.push([name, typeof value === 'string' ? value : JSON.stringify(value)])
  }
  return { values, missing }
}

function statusFits(expected: HttpStep['expected_status'], status: number): boolean {
  if (expected.length === 0) return true
  return expected.some((one) => one === status || one === `${Math.floor(status / 100)}xx`)
}

function bodyFaults(step: HttpStep, { body, truncated }: HttpObservation): string[] {
  const whole = truncated ? ' in its first part' : ''
  const faults: string[] = []
  for (const text of step.expected_body_contains)
    if (!body.includes(text))
      faults.push(`The body does not contain ${shown(text)}${whole}; it begins with ${shown(body)}`)
  for (const text of step.expected_body_not_contains)
    if (body.includes(text)) faults.push(`The body contains ${shown(text)}`)
  // What was cut off could contain it.
  if (truncated && step.expected_body_not_contains.length > 0) faults.push('The body is too large to be searched whole')
  const { expected_body_matches: pattern } = step
  if (pattern !== null && !boundedMatcher()(pattern, body))
    faults.push(`The body does not match ${shown(pattern)}; it begins with ${shown(body)}`)
  return faults
}

function headerFaults({ expected_headers: expected }: HttpStep, { headers }: HttpObservation): string[] {
  return Object.entries(expected).flatMap(([name, text]) => {
    const values = headers.filter(([found]) => found.toLowerCase() === name.toLowerCase()).map(([, value]) => value)
    if (values.length === 0) return [`There is no header ${cut(name)}`]
    return values.some((value) => value.toLowerCase().includes(text.toLowerCase()))
      ? []
      : [`The header ${cut(name)} is ${shown(values.join(', '))}, without ${shown(text)}`]
  })
}

function jsonFaults(expected: readonly JsonExpectation[], seen: HttpObservation): string[] {
  if (expected.length === 0) return []
  const document = jsonOf(seen)
  if (document === undefined) return [`The body is no JSON; it begins with ${shown(seen.body)}`]
  return expected.flatMap((one) => jsonFault(one, valuesAt(document.value, one.path)))
}

function jsonFault(expected: JsonExpectation, found: unknown[]): string[] {
  const { path } = expected
  if (expected.exists === false) return found.length === 0 ? [] : [`${cut(path)} is there: ${told(found[0])}`]
  if (found.length === 0) return [`There is nothing at ${cut(path)}`]
  const fitting = (fits: (value: unknown) => boolean) => found.some(fits)
  const faults: string[] = []
  const add = (what: string) => faults.push(`${cut(path)} is ${found.slice(0, 5).map(told).join(', ')}, ${what}`)
  if ('equals' in expected && !fitting((value) => isDeepStrictEqual(value, expected.equals)))
    add(`not ${told(expected.equals)}`)
  const { contains, matches, min, max } = expected
  if (contains !== undefined && !fitting((value) => textOf(value).includes(contains))) add(`without ${shown(contains)}`)
  if (matches !== undefined && !fitting((value) => boundedMatcher()(matches, textOf(value))))
    add(`which does not match ${shown(matches)}`)
  if (min !== undefined && !fitting((value) => typeof value === 'number' && value >= min)) add(`less than ${min}`)
  if (max !== undefined && !fitting((value) => typeof value === 'number' && value <= max)) add(`more than ${max}`)
  return faults
}

/** A list contains a text where one of its entries does. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function told(value: unknown): string {
  return shown(textOf(value) ?? 'nothing')
}

function jsonOf({ body, truncated }: HttpObservation): { value: unknown } | undefined {
  if (truncated) return undefined
  try {
    const value: unknown = JSON.parse(body)
    return isWithinDepth(value, JSON_MAX_DEPTH) ? { value } : undefined
  } catch {
    return undefined
  }
}
