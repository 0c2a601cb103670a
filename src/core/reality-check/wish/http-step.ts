/** Reads an HTTP check of the tests: the seed's fields and more (spec, Reality check; docs/reality-check.md, HTTP steps). Pure. */
import { patternFault } from '../../forms/pattern.ts'
import { CHECK_STEP_LONGEST_MS } from '../../limits.ts'
import { isObject } from '../../primitives/is-object.ts'
import type { HttpStep, JsonExpectation } from '../../protocol/check/reality-check.ts'
import { parseJsonPath } from '../expectation/json-path.ts'
import { type Fields, WishFault } from './fault.ts'
import {
  readChoice,
  readFlag,
  readList,
  readMap,
  readNumber,
  readObject,
  readOptionalText,
  readText,
  readTexts,
} from './read.ts'

const EXPECTATIONS = [
  'expected_status',
  'expected_body_contains',
  'expected_body_substring',
  'expected_body_not_contains',
  'expected_body_matches',
  'expected_json',
  'expected_headers',
  'max_ms',
] as const

export const HTTP_FIELDS = [
  ...['method', 'path', 'query', 'headers', 'body', 'form'],
  ...EXPECTATIONS,
  ...['capture', 'timeout_seconds', 'retry', 'follow_redirects'],
]

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const
const HEADER = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/
const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/
const ANY = /^[^\0]{1,1024}$/
const DEFAULT_SECONDS = 10

/** Throws a WishFault. */
export function readHttpStep(value: unknown, where: string): HttpStep {
  const fields = readObject(value, where, HTTP_FIELDS)
  const at = (name: string) => `${where}.${name}`
  if (fields['body'] !== undefined && fields['form'] !== undefined)
    throw new WishFault(at('form'), 'left out where there is a "body"')
  const step: HttpStep = {
    method: readChoice(String(fields['method'] ?? 'GET').toUpperCase(), at('method'), METHODS),
    path: readPath(fields['path'], at('path')),
    query: readMap(fields['query'], at('query'), ANY),
    headers: readHeaders(fields['headers'], at('headers')),
    body: fields['body'] ?? null,
    form: fields['form'] === undefined ? null : readMap(fields['form'], at('form'), ANY),
    expected_status: readStatuses(fields['expected_status'], at('expected_status')),
    expected_body_contains: [
      ...readTexts(fields['expected_body_contains'], at('expected_body_contains')),
      ...readTexts(fields['expected_body_substring'], at('expected_body_substring')),
    ],
    expected_body_not_contains: readTexts(fields['expected_body_not_contains'], at('expected_body_not_contains')),
    expected_body_matches: readPattern(fields['expected_body_matches'], at('expected_body_matches')),
    expected_json: readJsonExpectations(fields['expected_json'], at('expected_json')),
    expected_headers: readMap(fields['expected_headers'], at('expected_headers'), HEADER),
    capture: readCaptures(fields['capture'], at('capture')),
    timeout_seconds: readSeconds(fields['timeout_seconds'], at('timeout_seconds'), DEFAULT_SECONDS),
    retry: readRetry(fields, where),
    max_ms:
      fields['max_ms'] === undefined ? null : readNumber(fields['max_ms'], at('max_ms'), { min: 1, max: 600_000 }),
    follow_redirects: readFlag(fields['follow_redirects'], at('follow_redirects')),
  }
  if (EXPECTATIONS.every((name) => fields[name] === undefined))
    throw new WishFault(where, 'a check that expects something, such as "expected_status": 200')
  return step
}

export function readSeconds(value: unknown, where: string, ifMissing: number): number {
  return value === undefined ? ifMissing : readNumber(value, where, { min: 0.01, max: CHECK_STEP_LONGEST_MS / 1_000 })
}

export function readPattern(value: unknown, where: string): string | null {
  const pattern = readOptionalText(value, where, 4_096)
  const fault = pattern === null ? undefined : patternFault(pattern)
  if (fault !== undefined) throw new WishFault(where, `a pattern that can be used: ${fault}`)
  return pattern
}

/** A path is joined to the address of the software: it may lead nowhere else. */
export function readPath(value: unknown, where: string): string {
  const path = readText(value, where, 8_192)
  const isPath = path.startsWith('/') && !path.startsWith('//') && !/[\\\p{Cc}\s#]/u.test(path)
  if (isPath) return path
  throw new WishFault(where, 'a path that begins with one "/", without a host, spaces, "\\" and "#"')
}

function readStatuses(value: unknown, where: string): (number | string)[] {
  if (value === undefined || value === null) return []
  const list = Array.isArray(value) ? value : [value]
  if (list.length === 0 || list.length > 50) throw new WishFault(where, 'a status, or a list of 1 to 50')
  return list.map((status) => {
    if (Number.isInteger(status) && (status as number) >= 100 && (status as number) <= 599) return status as number
    if (typeof status === 'string' && /^[1-5]xx$/i.test(status)) return status.toLowerCase()
    if (typeof status === 'string' && /^[1-5]\d\d$/.test(status)) return Number(status)
    throw new WishFault(where, 'a status such as 200, or a class such as "2xx"')
  })
}

/** The address of the software is the host; framing is the validator's. */
function readHeaders(value: unknown, where: string): Record<string, string> {
  const headers = readMap(value, where, HEADER)
  for (const [name, text] of Object.entries(headers)) {
    if (/^(?:host|content-length|transfer-encoding|connection)$/i.test(name))
      throw new WishFault(`${where}.${name}`, 'left out: the validator sets it')
    if (/[\r\n]/.test(text)) throw new WishFault(`${where}.${name}`, 'one line')
  }
  return headers
}

function readJsonExpectations(value: unknown, where: string): JsonExpectation[] {
  if (value === undefined || value === null) return []
  return readList(value, where, 100).map((entry, at) => readJsonExpectation(entry, `${where}[${at}]`))
}

function readJsonExpectation(value: unknown, where: string): JsonExpectation {
  const fields = readObject(value, where, ['path', 'equals', 'contains', 'exists', 'matches', 'min', 'max'])
  const path = readJsonPath(fields['path'], `${where}.path`)
  const wanted = Object.keys(fields).filter((name) => name !== 'path')
  if (wanted.length === 0) throw new WishFault(where, 'an expectation, such as "equals"')
  const bound = (name: string) => readNumber(fields[name], `${where}.${name}`, { min: -1e15, max: 1e15 })
  return {
    path,
    ...('equals' in fields ? { equals: fields['equals'] } : {}),
    ...('contains' in fields ? { contains: readText(fields['contains'], `${where}.contains`) } : {}),
    ...('exists' in fields ? { exists: readFlag(fields['exists'], `${where}.exists`) } : {}),
    ...('matches' in fields ? { matches: readPattern(fields['matches'], `${where}.matches`) ?? '' } : {}),
    ...('min' in fields ? { min: bound('min') } : {}),
    ...('max' in fields ? { max: bound('max') } : {}),
  }
}

function readJsonPath(value: unknown, where: string): string {
  const path = readText(value, where, 1_024)
  if (parseJsonPath(path) === undefined) throw new WishFault(where, 'a JSONPath such as "$.items[0].name"')
  return path
}

function readCaptures(value: unknown, where: string): Record<string, string> {
  const captures = readMap(value, where, NAME)
  for (const [name, path] of Object.entries(captures)) readJsonPath(path, `${where}.${name}`)
  return captures
}

function readRetry({ retry }: Fields, where: string): HttpStep['retry'] {
  if (retry === undefined || retry === null) return null
  const fields = readObject(isObject(retry) ? retry : { attempts: retry }, `${where}.retry`, ['attempts', 'interval'])
  return {
    attempts: readNumber(fields['attempts'], `${where}.retry.attempts`, { min: 1, max: 100 }),
    interval: readNumber(fields['interval'] ?? 1, `${where}.retry.interval`, { min: 0.01, max: 60 }),
  }
}
