/** Conditions of edges: the canonical language, and what is read beyond it. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Facts, isTrue, parseCondition } from '../../src/pipeline/language/condition.ts'

const CONTEXT: Readonly<Record<string, unknown>> = {
  tests: 'failed',
  count: 12,
  ok: true,
  list: ['a', 'b'],
  empty: '',
  nothing: null,
  'tool.last_line': 'DONE: all && more',
}

function holds(text: string, facts: Partial<Facts> = {}): boolean {
  const parsed = parseCondition(text)
  if (!parsed.isOk) throw new Error(parsed.message)
  const get = (key: string) => CONTEXT[key.replace(/^context\./, '')]
  return isTrue(parsed.condition, { status: 'success', label: undefined, get, ...facts })
}

test.each([
  ['', true],
  ['  ', true],
  ['outcome=success', true],
  ['outcome = success', true],
  ['outcome==success', true],
  ['outcome="success"', true],
  ['outcome=Success', false],
  ['outcome!=success', false],
  ['outcome=succeeded', true],
  ['outcome!=failed', true],
  ['outcome', true],
  ['preferred_label', false],
  ['preferred_label=', true],
  ['context.tests=failed', true],
  ['tests=failed', true],
  ['context.tests!=failed', false],
  ['context.missing=', true],
  ['context.missing', false],
  ['context.missing!=x', true],
  ['context.empty', false],
  ['context.nothing', false],
  ['context.ok=true', true],
  ['context.count=12', true],
  ['context.list=["a","b"]', true],
  ['outcome=success && context.tests=failed', true],
  ['outcome=success&&context.tests=passed', false],
  ['context.tool.last_line="DONE: all && more"', true],
  ['context.tool.last_line=DONE: all', false],
])('canonical: %s is %s', (text, wanted) => {
  expect(holds(text)).toBe(wanted)
  const parsed = parseCondition(text)
  if (!text.includes('==')) expect(parsed).toMatchObject({ isOk: true, extensions: [] })
})

test.each([
  ['outcome=fail || context.tests=failed', true],
  ['outcome=fail || outcome=retry && context.ok', false],
  ['(outcome=fail || context.ok) && context.count', true],
  ['!context.missing', true],
  ['!(outcome=success)', false],
  ['context.count<13', true],
  ['context.count >= 12', true],
  ['context.count>12', false],
  ['context.tests<1', false],
  ['context.tool.last_line contains DONE', true],
  ['context.tool.last_line !contains FAIL', true],
  ['context.tool.last_line matches ^DONE: \\w+', true],
])('beyond it: %s is %s', (text, wanted) => {
  expect(holds(text)).toBe(wanted)
  const parsed = parseCondition(text)
  expect(parsed.isOk && parsed.extensions.length).toBeGreaterThan(0)
})

test.each([
  ['outcome=approve', 'success', 'approve', true],
  ['outcome=success', 'success', 'approve', true],
  ['outcome!=success', 'success', 'approve', true],
  ['outcome!=approve', 'success', 'approve', false],
  ['outcome=fail', 'success', 'approve', false],
  ['preferred_label=approve', 'success', 'approve', true],
  ['outcome', 'fail', undefined, true],
])('%s, status %s, label %s: %s', (text, status, label, wanted) => {
  expect(holds(text, { status, label })).toBe(wanted)
})

test.each([
  ['=success', 0],
  ['outcome=success &&', 18],
  ['outcome="x', 8],
  ['(outcome=x', 10],
  ['outcome=x)', 9],
  ['a b', 2],
  ['x matches (', 1],
])('%s is malformed at %s', (text, at) => {
  expect(parseCondition(text)).toMatchObject({ isOk: false, at })
})

test('no text makes it throw; what it reads is decided', () => {
  const piece = fc.constantFrom(
    'outcome',
    '=',
    '!=',
    '&&',
    '||',
    '!',
    '(',
    ')',
    ' ',
    'x',
    '"',
    "'",
    'contains',
    '<',
    'context.a',
  )
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(piece).map((all) => all.join('')),
      ),
      (text) => {
        const parsed = parseCondition(text)
        if (parsed.isOk) expect(typeof holds(text)).toBe('boolean')
        else expect(parsed.at).toBeLessThanOrEqual(text.length)
      },
    ),
    { numRuns: 2_000 },
  )
  expect(parseCondition('!'.repeat(100_000))).toMatchObject({ isOk: false })
})
