/** The request for a reality check: what is read, and every fault that is refused (spec, Reality check; R46). */
import { expect, test } from 'vitest'
import { ResolveError } from '../../src/core/errors.ts'
import { parseCriteria, parseWish } from '../../src/core/reality-check/wish/parse-wish.ts'

const reasonOf = (work: () => unknown): string => {
  try {
    work()
  } catch (error) {
    if (error instanceof ResolveError && error.code === 'check_invalid') return String(error.details['reason'])
    throw error
  }
  return 'nothing was refused'
}
const check = (fields: Record<string, unknown>) => () =>
  parseCriteria({ checks: [{ path: '/', expected_status: 200, ...fields }] })
const step = (fields: unknown) => () => parseCriteria({ tests: [{ description: 'It works', steps: [fields] }] })
const wish = (fields: Record<string, unknown>) => () =>
  parseWish({ software_path: 'https://example.com/a.git', acceptance_criteria: 'It works', ...fields })

test('the parameters of the specification are read, with their defaults (R46)', () => {
  const read = parseWish({
    software_path: ' https://example.com/a.git ',
    acceptance_criteria: {
      spec: 'It lists notes',
      checks: [{ method: 'get', path: '/n', expected_status: 200, expected_body_substring: 'milk' }],
    },
    environment: { language: 'Node', type: 'web', port: 3000 },
  })
  expect(read).toMatchObject({
    software_path: 'https://example.com/a.git',
    dtu_lifecycle: 'auto',
    timeout_seconds: 1200,
    key: null,
  })
  expect(read.environment).toMatchObject({
    language: 'node',
    port: 3000,
    start_seconds: 60,
    network: { build: 'public', run: 'none' },
  })
  expect(read.criteria.tests[0]?.steps[0]).toMatchObject({
    kind: 'http',
    http: { method: 'GET', expected_body_contains: ['milk'] },
  })
  expect(read.criteria.tests[0]?.id).toMatch(/^[0-9a-f]{8}$/)
})

test('the same tests have the same ids, and equal tests have ids of their own', () => {
  const ids = () =>
    parseCriteria({
      checks: [
        { path: '/', expected_status: 200 },
        { path: '/', expected_status: 200 },
      ],
    }).tests.map(({ id }) => id)
  expect(ids()).toEqual(ids())
  expect(new Set(ids()).size).toBe(2)
})

test.each([
  [check({ expected_statuss: 200 }), 'expected_statuss'],
  [check({ path: '//other.example/' }), 'begins with one "/"'],
  [check({ path: 'http://169.254.169.254/' }), 'begins with one "/"'],
  [check({ path: '/a\\b' }), 'begins with one "/"'],
  [check({ path: '/a\r\nX: y' }), 'begins with one "/"'],
  [check({ method: 'CONNECT' }), 'method'],
  [check({ headers: { Host: 'other' } }), 'the validator sets it'],
  [check({ headers: { 'X-A': 'a\r\nb: c' } }), 'one line'],
  [check({ expected_status: 99 }), 'a status such as 200'],
  [check({ expected_status: '6xx' }), 'a status such as 200'],
  [check({ expected_body_matches: '(' }), 'a pattern that can be used'],
  [check({ expected_body_contains: '' }), 'not empty'],
  [check({ expected_json: [{ path: '$[?match(@.a, "(a+)+$")]', exists: true }] }), 'a JSONPath'],
  [check({ expected_json: [{ path: '$.a' }] }), 'an expectation'],
  [check({ body: 1, form: {} }), '"body"'],
  [check({ timeout_seconds: 0 }), 'timeout_seconds'],
  [() => parseCriteria({ checks: [{ path: '/' }] }), 'expects something'],
  [() => parseCriteria({}), '"spec", "checks" or "tests"'],
  [() => parseCriteria('  '), 'not empty'],
  [
    () => parseCriteria({ tests: Array.from({ length: 101 }, () => ({ description: 'a', steps: ['a'] })) }),
    'at most 100',
  ],
  [() => parseCriteria({ tests: [{ description: 'a', steps: ['a'], id: 'zz' }] }), '8 digits'],
  [
    () =>
      parseCriteria({
        tests: [
          { description: 'a', steps: ['a'], id: '0123abcd' },
          { description: 'b', steps: ['b'], id: '0123abcd' },
        ],
      }),
    'there twice',
  ],
  [step({ sleep: 3 }), 'one of action, http, run'],
  [step({ run: [] }), 'a command'],
  [step({ restart: 'everything' }), 'software'],
  [step({ click: { role: 'button', css: 'b' } }), 'one of role'],
  [step({ click: { label: 'a', name: 'b' } }), 'left out'],
  [step({ press: 'rm -rf /*;' }), 'a key'],
  [step({ goto: 'http://elsewhere.example/' }), 'begins with one "/"'],
  [wish({ software_path: '' }), 'software_path'],
  [wish({ environment: { port: 0 } }), 'environment.port'],
  [wish({ environment: { workdir: '../..' } }), 'below the software'],
  [wish({ environment: { env: { 'A=B': 'c' } } }), 'allowed there'],
  [wish({ environment: { privileged: true } }), 'environment.privileged'],
  [wish({ dtu_lifecycle: 'forever' }), 'auto, keep, destroy'],
  [wish({ timeout_seconds: 86_401 }), 'timeout_seconds'],
  [wish({ more: 1 }), 'more'],
])('a fault is refused and named (%#)', (work, named) => {
  expect(reasonOf(work)).toContain(named)
})
