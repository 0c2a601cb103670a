/** What is observed against what is expected: every expectation, fitting and not. */
import { expect, test } from 'vitest'
import type { HttpStep, Observation } from '../../src/core/protocol/check/reality-check.ts'
import { commandFaults } from '../../src/core/reality-check/expectation/command.ts'
import { captured, httpFaults } from '../../src/core/reality-check/expectation/http.ts'
import { Variables } from '../../src/core/reality-check/expectation/variables.ts'
import { parseCriteria } from '../../src/core/reality-check/wish/parse-wish.ts'

type Seen = Extract<Observation, { kind: 'http' }>
const ANSWER: Seen = {
  ...{
    kind: 'http',
    method: 'GET',
    path: '/',
    request_body: null,
    status: 200,
    truncated: false,
    duration_ms: 12,
    error: null,
  },
  headers: [['Content-Type', 'application/json; charset=utf-8']],
  body: '{"items":[{"name":"milk","price":2}],"total":1}',
}
function stepOf(fields: Record<string, unknown>): HttpStep {
  const step = parseCriteria({ checks: [{ path: '/', ...fields }] }).tests[0]?.steps[0]
  if (step?.kind !== 'http') throw new TypeError('no HTTP step')
  return step.http
}
const faults = (fields: Record<string, unknown>, seen: Partial<Seen> = {}) =>
  httpFaults(stepOf(fields), { ...ANSWER, ...seen })

test.each([
  [{ expected_status: 200 }, { expected_status: 201 }],
  [{ expected_status: '2xx' }, { expected_status: ['4xx', 500] }],
  [{ expected_body_contains: 'milk' }, { expected_body_contains: ['milk', 'bread'] }],
  [{ expected_body_not_contains: 'bread' }, { expected_body_not_contains: 'milk' }],
  [{ expected_body_matches: '"total":\\d' }, { expected_body_matches: '^total' }],
  [{ expected_headers: { 'content-type': 'json' } }, { expected_headers: { 'content-type': 'html' } }],
  [{ expected_headers: { 'content-type': 'json' } }, { expected_headers: { 'x-none': 'a' } }],
  [{ expected_json: [{ path: '$.total', equals: 1 }] }, { expected_json: [{ path: '$.total', equals: '1' }] }],
  [
    { expected_json: [{ path: '$.items[*].name', equals: 'milk' }] },
    { expected_json: [{ path: '$.items[*].name', equals: 'bread' }] },
  ],
  [
    { expected_json: [{ path: '$.items', contains: 'milk' }] },
    { expected_json: [{ path: '$.items', contains: 'bread' }] },
  ],
  [{ expected_json: [{ path: '$.none', exists: false }] }, { expected_json: [{ path: '$.total', exists: false }] }],
  [{ expected_json: [{ path: '$.total', exists: true }] }, { expected_json: [{ path: '$.none', exists: true }] }],
  [
    { expected_json: [{ path: '$.items[0].price', min: 2, max: 2 }] },
    { expected_json: [{ path: '$.items[0].price', min: 3 }] },
  ],
  [
    { expected_json: [{ path: '$.items[0].name', matches: '^m' }] },
    { expected_json: [{ path: '$.items[0].price', max: 1 }] },
  ],
  [{ max_ms: 13 }, { max_ms: 11 }],
])('an answer fits, or the fault says what is different (%#)', (fitting, other) => {
  expect(faults(fitting)).toEqual([])
  expect(faults(other)).toHaveLength(1)
})

test('no answer never fits, whatever is expected', () => {
  for (const error of ['refused', 'timeout', 'reset', 'malformed', 'too_large'])
    expect(faults({ expected_body_not_contains: 'milk' }, { status: null, body: '', error })).toHaveLength(1)
})

test('a body that was cut off does not show that a text is absent', () => {
  expect(faults({ expected_body_not_contains: 'bread' }, { truncated: true })).toEqual([
    'The body is too large to be searched whole',
  ])
})

test('a pattern that runs without end is a fault within its time', () => {
  expect(faults({ expected_body_matches: '(a+)+$' }, { body: `${'a'.repeat(40)}b` })).toHaveLength(1)
})

test('values are captured, used in later steps, and chance is the same within a test', () => {
  const step = stepOf({ expected_status: 200, capture: { name: '$.items[0].name', none: '$.x' } })
  expect(captured(step, ANSWER)).toEqual({ values: [['name', 'milk']], missing: ['none'] })
  const variables = new Variables()
  variables.set('name', 'milk')
  const used = variables.in({ path: '/{{name}}', body: ['{{$uuid}}', '{{ $uuid }}', '{{other}}'] })
  expect(used.path).toBe('/milk')
  expect(used.body[0]).toMatch(/^[0-9a-f-]{36}$/)
  expect(used.body[1]).toBe(used.body[0])
  expect(used.body[2]).toBe('{{other}}')
})

test('a command is compared by its exit code and its output', () => {
  const seen = {
    kind: 'command' as const,
    command: 'x',
    exit_code: 0,
    stdout: 'milk\n',
    stderr: '',
    truncated: false,
    timed_out: false,
    duration_ms: 1,
  }
  const of = (fields: Record<string, unknown>, more: Partial<typeof seen> = {}) => {
    const step = parseCriteria({ tests: [{ description: 'a', steps: [{ run: 'x', ...fields }] }] }).tests[0]?.steps[0]
    return step?.kind === 'command' ? commandFaults(step.command, { ...seen, ...more }) : ['no command']
  }
  expect(of({})).toEqual([])
  expect(of({}, { exit_code: 3 })).toHaveLength(1)
  expect(of({ expected_exit_code: 3 }, { exit_code: 3 })).toEqual([])
  expect(
    of({ expected_stdout_contains: 'milk', expected_stdout_not_contains: 'bread', expected_stdout_matches: '^milk' }),
  ).toEqual([])
  expect(
    of({ expected_stdout_contains: 'bread', expected_stderr_contains: 'a', expected_stdout_matches: '^bread' }),
  ).toHaveLength(3)
  expect(of({}, { timed_out: true })).toEqual(['It did not end within 60 s'])
})
