import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { boundedMatcher } from '../../src/core/form-check/matcher.ts'
import { defaults, visibleValues } from '../../src/core/forms/form-values.ts'
import { parseForm } from '../../src/core/forms/parse-form.ts'
import { failingChecks, validate } from '../../src/core/forms/validate.ts'
import { resolvePath } from '../../src/core/forms/values.ts'
import type { DynamicBoolean, Form, Payload } from '../../src/core/protocol/form.ts'
import { conditions, forms, payloads } from './arbitraries.ts'
import { lookUp, referenceMessages, truth } from './reference.ts'

/** Does the condition hold? Parsed first, as every form is. */
function holds(condition: unknown, payload: unknown): boolean {
  const { form, errors } = parseForm({
    type: 'form',
    components: [{ type: 'text', id: 'f', checks: [{ condition, message: 'fails' }] }],
  })
  expect(errors).toEqual([])
  return validate(form as Form, payload as Payload, boundedMatcher()).length === 0
}

const at = (path: string) => ({ path })
const required = { call: 'required', args: [at('/f')] }
const email = { call: 'email', args: [at('/f')] }
const regex = (pattern: string) => ({ call: 'regex', args: { value: at('/f'), pattern } })
const length = (bounds: object) => ({ call: 'length', args: { value: at('/f'), ...bounds } })
const numeric = (bounds: object = {}) => ({ call: 'numeric', args: { value: at('/f'), ...bounds } })
const and = (...list: unknown[]) => ({ call: 'and', args: { conditions: list } })
const or = (...list: unknown[]) => ({ call: 'or', args: { conditions: list } })
const not = (condition: unknown) => ({ call: 'not', args: { condition } })

describe('conditions', () => {
  test('a literal boolean is the result of its condition (S-FORM-08)', () => {
    expect([holds(true, {}), holds(false, {})]).toEqual([true, false])
  })

  test.each([
    ...['', 0, [], {}, null, false].map((value) => [value, false] as const),
    ...['false', '0', ' ', 1, -1, [0], { a: null }, true].map((value) => [value, true] as const),
  ])('a binding casts %j to %j (S-FORM-09, R33)', (value, expected) => {
    expect(holds(at('/f'), { f: value })).toBe(expected)
  })

  test('a binding to a missing path is false (S-FORM-09, S-FORM-12)', () => {
    expect(holds(at('/f'), {})).toBe(false)
  })

  test('and, or and not combine (S-FORM-18, S-FORM-19, S-FORM-20, R29)', () => {
    expect(holds(and(true, true), {})).toBe(true)
    expect(holds(and(true, false), {})).toBe(false)
    expect(holds(or(false, true), {})).toBe(true)
    expect(holds(or(false, false), {})).toBe(false)
    expect(holds(not(false), {})).toBe(true)
    expect(holds(not(at('/f')), { f: 'x' })).toBe(false)
  })
})

describe('functions', () => {
  test.each([
    [{}, false],
    [{ f: null }, false],
    [{ f: '' }, false],
    [{ f: ' ' }, true],
    [{ f: 0 }, true],
    [{ f: false }, true],
    [{ f: [] }, true],
  ])('required on %j is %j (S-FORM-13, S-FORM-10)', (payload, expected) => {
    expect(holds(required, payload)).toBe(expected)
  })

  test('a missing or null value fails regex, length, numeric and email (R31)', () => {
    const rules = [regex('^'), regex(''), length({}), length({ min: 0 }), numeric(), email]
    for (const rule of rules) {
      expect(holds(rule, {})).toBe(false)
      expect(holds(rule, { f: null })).toBe(false)
    }
    expect(holds(regex(''), { f: '' })).toBe(true)
    expect(holds(length({ min: 0 }), { f: '' })).toBe(true)
  })

  test('or(not(required), rule) makes a rule optional (R31)', () => {
    const optional = or(not(required), regex('^[a-z]+$'))
    expect([{}, { f: null }, { f: '' }, { f: 'ok' }].map((payload) => holds(optional, payload))).toEqual(
      Array(4).fill(true),
    )
    expect(holds(optional, { f: 'NO' })).toBe(false)
  })

  test('regex searches, and reads a number as its text (S-FORM-14, R34)', () => {
    expect(holds(regex('b+'), { f: 'abc' })).toBe(true)
    expect(holds(regex('^b'), { f: 'abc' })).toBe(false)
    expect(holds(regex('^\\d+$'), { f: 8080 })).toBe(true)
    for (const other of [true, ['b'], { b: 'b' }]) expect(holds(regex('b|t'), { f: other })).toBe(false)
  })

  test.each([
    ['(?P<year>\\d{4})-(?P=year)', '2026-2026', true],
    ['(?P<year>\\d{4})-(?P=year)', '2026-2027', false],
    ['^(?=.*\\d)(?!.*x).{3}$', 'a1b', true],
    ['^(?=.*\\d)(?!.*x).{3}$', 'a1x', false],
    ['(.)\\1', 'hello', true],
    ['(?<=€)\\d', '€5', true],
    ['^.$', '😀', true],
    ['[(?P<]', 'P', true],
    ['\\(\\?P<', 'a(?P<', true],
    ['^a|b$', 'xb', true],
  ])('pattern %s on %s is %j (R34)', (pattern, value, expected) => {
    expect(holds(regex(pattern), { f: value })).toBe(expected)
  })

  test.each<[unknown, object, boolean]>([
    ['😀😀', { min: 2, max: 2 }, true],
    ['e\u0301', { max: 1 }, false],
    ['\ud800', { min: 1, max: 1 }, true],
    ['abc', { min: 4 }, false],
    ['abc', { max: 2 }, false],
    ['', { max: 0 }, true],
    [[1, 2], { min: 2, max: 2 }, true],
    [12, { min: 1 }, false],
    [{ length: 2 }, { min: 1 }, false],
    [true, {}, false],
  ])('length of %j within %j is %j (S-FORM-15, R33)', (value, bounds, expected) => {
    expect(holds(length(bounds), { f: value })).toBe(expected)
  })

  test.each<readonly [unknown, object, boolean]>([
    ...['5', ' 5 ', '1e3', '+5', '-5', '.5', '5.', '5e-1', 0, -2.5].map((value) => [value, {}, true] as const),
    ...['', ' ', 'abc', '0x10', '1_000', '1,5', '5 6', 'NaN', 'inf', 'Infinity', '1e999', true, [5], {}].map(
      (value) => [value, {}, false] as const,
    ),
    ['10', { min: 10, max: 10 }, true],
    ['9.99', { min: 10 }, false],
    [11, { max: 10 }, false],
  ])('numeric of %j within %j is %j (S-FORM-16, R33)', (value, bounds, expected) => {
    expect(holds(numeric(bounds), { f: value })).toBe(expected)
  })

  test.each([
    ...['a@b.co', 'a@b.co.uk', 'a.b+c-d_e@x-y.z', 'é@ü.de', 'x@y.٣'].map((value) => [value, true] as const),
    ...['a@b', '@b.c', 'a@.c', 'a@b..c', 'a@b.c-d', 'a b@c.d', 'a@b@c.d', ' a@b.c', 'a@b.c\n', '', 5].map(
      (value) => [value, false] as const,
    ),
  ])('email %j is %j (S-FORM-17, R34)', (value, expected) => {
    expect(holds(email, { f: value })).toBe(expected)
  })

  test.each([
    ['letters', 'a'.repeat(1_000_000)],
    ['labels', `a@${'b.'.repeat(500_000)}`],
    ['hyphens', `a@${'b-.'.repeat(20_000)}!`],
    ['digits', `${'1'.repeat(1_000_000)}x`],
    ['a fraction', `.${'1'.repeat(1_000_000)}e`],
  ])('email and numeric are quick on a long row of %s (R34)', (_, value) => {
    const before = process.threadCpuUsage()
    expect([holds(email, { f: value }), holds(numeric(), { f: value })]).toEqual([false, false])
    expect(process.threadCpuUsage(before).user).toBeLessThan(1_000_000)
  })
})

describe('paths', () => {
  test('one leading slash is stripped and the rest names nested values (S-FORM-11)', () => {
    const payload = { a: { b: [{ c: 'x' }] }, '': { z: 'x' } }
    for (const path of ['/a', 'a', '/a/b', '/a/b/0', '/a/b/0/c', '//z']) expect(holds(at(path), payload)).toBe(true)
    for (const path of ['/a/', '/b', '/a/b/1', '/a/b/00', '/a/b/-1', '/a/b/0/c/0']) {
      expect(holds({ call: 'required', args: [at(path)] }, payload)).toBe(false)
    }
  })

  test.each([
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'hasOwnProperty',
    'f/length',
    'f/__proto__',
    'l/length',
    'l/at',
    'f/0',
  ])('/%s is null unless it is an own key of the payload (R32)', (path) => {
    const payload = { f: 'text', l: [1, 2] }
    expect(holds({ call: 'required', args: [at(`/${path}`)] }, payload)).toBe(false)
    expect(holds(at(`/${path}`), payload)).toBe(false)
  })

  test('any path resolves by own keys and list positions, else to null (R32)', () => {
    const names = ['name', 'tags', 'deep', '0', '1', '00', '-1', 'length', '__proto__', 'constructor', 'toString', '']
    const keys = fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(payloads, keys, (payload, path) => {
        const found = resolvePath(payload, `/${path.join('/')}`)
        expect(found).toEqual(lookUp({ path: `/${path.join('/')}` }, payload))
        expect(['function', 'undefined']).not.toContain(typeof found)
      }),
      { numRuns: 1_000 },
    )
  })

  test('keys of the payload are data, also with names of JavaScript properties (R32)', () => {
    const payload = JSON.parse('{"__proto__": {"f": "x"}, "constructor": "y"}')
    expect(holds(at('/f'), payload)).toBe(false)
    expect(holds(at('/__proto__/f'), payload)).toBe(true)
    expect(holds(at('/constructor'), payload)).toBe(true)
  })
})

describe('messages', () => {
  const check = (message: string) => ({ condition: false, message })
  const form: Form = {
    type: 'form',
    components: [
      { type: 'text', id: 'b', checks: [check('one'), { condition: true, message: 'no' }, check('two')] },
      { type: 'select', id: 'a', options: [{ value: 'x', label: 'X' }], default: 'x' },
      { type: 'checkbox', id: 'c', default: false, checks: [check('one')] },
    ],
  }

  test('all failing messages are returned at once, in component order, then check order (R35, S-FORM-06, S-FORM-07)', () => {
    expect(validate(form, {}, boundedMatcher())).toEqual(['one', 'two', 'one'])
    expect(failingChecks(form, {}, boundedMatcher())).toEqual([
      { component: 'b', messages: ['one', 'two'] },
      { component: 'c', messages: ['one'] },
    ])
  })

  test('an unknown select value, an unknown key, a text for a checkbox and a missing field are accepted (R35, S-FORM-02)', () => {
    const plain: Form = {
      type: 'form',
      components: form.components.map((component) => ({ ...component, checks: [] })),
    }
    expect(validate(plain, { a: 'none of them', c: 'yes', extra: { deep: 1 } }, boundedMatcher())).toEqual([])
  })

  test('the payload is not changed, extra keys included (R36)', () => {
    const payload = Object.freeze({ a: 'x', extra: Object.freeze([1]) })
    validate(form, payload, boundedMatcher())
    expect(payload).toEqual({ a: 'x', extra: [1] })
    expect(visibleValues(form, payload)).toEqual({ a: 'x' })
  })

  test('defaults are those the form declares, a false checkbox too (S-FORM-04, S-FORM-05)', () => {
    expect(defaults(form)).toEqual({ a: 'x', c: false })
  })

  test('hostile payloads give messages and never an exception (R32)', () => {
    let deep: unknown = 'x'
    for (let level = 0; level < 50_000; level += 1) deep = [deep]
    for (const payload of [deep, [], null, 'text', 5, new Date(), Object.create({ f: 'inherited' })]) {
      expect(holds(required, payload)).toBe(false)
      expect(holds(at('/f'), { f: deep })).toBe(true)
    }
  })
})

describe('any form, any payload', () => {
  test('the messages equal those of a naive reference implementation (R31, R32, R33, R34, R35)', () => {
    fc.assert(
      fc.property(forms, payloads, (form, payload) => {
        const expected = referenceMessages(form, payload)
        expect(validate(form, payload, boundedMatcher())).toEqual(expected)
        expect(failingChecks(form, payload, boundedMatcher()).flatMap(({ messages }) => messages)).toEqual(expected)
      }),
      { numRuns: 500 },
    )
  })

  test('not(not(x)) is x, and De Morgan holds (S-FORM-18, S-FORM-19, S-FORM-20)', () => {
    fc.assert(
      fc.property(conditions, conditions, payloads, (one, other, payload) => {
        const value = (condition: unknown) => holds(condition as DynamicBoolean, payload)
        expect(value(one)).toBe(truth(one, payload))
        expect(value(not(not(one)))).toBe(value(one))
        expect(value(not(and(one, other)))).toBe(value(or(not(one), not(other))))
        expect(value(not(or(one, other)))).toBe(value(and(not(one), not(other))))
      }),
      { numRuns: 300 },
    )
  })
})
