import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { boundedMatcher } from '../../src/core/form-check/matcher.ts'
import { parseForm } from '../../src/core/forms/parse-form.ts'
import { patternRegExp, patternSource } from '../../src/core/forms/pattern.ts'
import { validate } from '../../src/core/forms/validate.ts'
import type { Form } from '../../src/core/protocol/form.ts'

const KIB_64 = 64 * 1024

/** Each would hold a bare `RegExp` for seconds or for ever on its value. */
const EVIL: [pattern: string, value: string][] = [
  ['^(a+)+$', `${'a'.repeat(60)}!`],
  ['^(a|a)*$', `${'a'.repeat(60)}!`],
  ['^(a|aa)+$', `${'a'.repeat(100)}!`],
  ['(.*)*x', 'y'.repeat(60)],
  ['^(\\w+\\s?)*$', `${'word '.repeat(30)}!`],
  ['(a*)*b', 'a'.repeat(KIB_64)],
  ['a*a*a*b', 'a'.repeat(KIB_64)],
  ['a*😀*a*😀*a*b', 'a'.repeat(KIB_64)],
  ['a*\\ud83d\\ude00*a*b', 'a'.repeat(KIB_64)],
  ['\\w+@', 'a'.repeat(KIB_64)],
  ['(x+x+)+y', 'x'.repeat(60)],
  ['^(?=(a+)+$)', `${'a'.repeat(60)}!`],
  ['(.+)\\1\\1\\1x', 'a'.repeat(KIB_64)],
  ['(?:|){60}b', 'a'],
  ['(?:a?){60}b', 'a'.repeat(60)],
  ['^([a-z0-9]+[._-]?)+@', `${'a'.repeat(60)}!`],
  ['(?<=(a+)+)b', 'a'.repeat(60)],
  // These two hold V8's compiler, where no time limit reaches.
  [`${'\\P{Cn}'.repeat(8)}z`, 'bλ'],
  [`${'[^\\p{L}\\p{N}]'.repeat(8)}z`, 'bλ'],
]

const regexForm = (patterns: string[]): Form => {
  const components = patterns.map((pattern, at) => ({
    type: 'text',
    id: `f${at}`,
    checks: [{ condition: { call: 'regex', args: { value: { path: `/f${at}` }, pattern } }, message: `m${at}` }],
  }))
  const { form, errors } = parseForm({ type: 'form', components })
  expect(errors).toEqual([])
  return form as Form
}

describe('time', () => {
  test.each(EVIL)('the pattern %s fails its check within the time limit (R34)', (pattern, value) => {
    const form = regexForm([pattern])
    const before = process.threadCpuUsage()
    expect(validate(form, { f0: value }, boundedMatcher())).toEqual(['m0'])
    const { user, system } = process.threadCpuUsage(before)
    expect((user + system) / 1_000).toBeLessThan(400)
  })

  test('a form of slow patterns only is checked within the limit, with every message (R34)', () => {
    const many = [...EVIL, ...EVIL, ...EVIL]
    const form = regexForm(many.map(([pattern]) => pattern))
    const payload = Object.fromEntries(many.map(([, value], at) => [`f${at}`, value]))
    const before = process.threadCpuUsage()
    expect(validate(form, payload, boundedMatcher())).toEqual(many.map((_, at) => `m${at}`))
    const { user, system } = process.threadCpuUsage(before)
    expect((user + system) / 1_000).toBeLessThan(400)
  })

  test('a spent budget fails what follows, and the next matcher starts afresh (R34)', () => {
    const spent = boundedMatcher()
    // On a crowded machine a quick pattern may run out of its own time, which is remembered: each is another one, and the budget is
    // spent where one after the other fails.
    let asked = 0
    const holdsQuick = (matches: typeof spent) => {
      asked += 1
      return matches(`^a{1,${asked}}$`, 'a')
    }
    const isSpent = () => Array.from({ length: 5 }, () => holdsQuick(spent)).every((holds) => !holds)
    let turns = 0
    // There a turn may hardly run, too, and then takes little of the budget.
    for (; turns < 30 && !isSpent(); turns += 1) spent(`^(a+)+${turns}$`, `${'a'.repeat(60)}!`)
    expect(turns).toBeLessThan(30)
    expect(holdsQuick(spent)).toBe(false)
    const afresh = boundedMatcher()
    expect(Array.from({ length: 5 }, () => holdsQuick(afresh))).toContain(true)
  })

  test('two hundred fields with ordinary patterns stay within the budget (R34)', () => {
    const patterns = Array.from({ length: 200 }, (_, at) => `^[a-z]{1,20}(-[a-z0-9]+)?@v?\\d+(?:\\.\\d+){0,2}#${at}$`)
    const payload = Object.fromEntries(patterns.map((_, at) => [`f${at}`, `some-package@v1.2.3#${at}`]))
    expect(validate(regexForm(patterns), payload, boundedMatcher())).toEqual([])
  })
})

describe('size', () => {
  test('a value over 64 KiB does not match, one of 64 KiB does (R34)', () => {
    const match = boundedMatcher()
    expect(match('^a+$', 'a'.repeat(KIB_64))).toBe(true)
    expect(match('^a+$', 'a'.repeat(KIB_64 + 1))).toBe(false)
  })

  test('an invalid pattern never matches and never throws (R34)', () => {
    const match = boundedMatcher()
    for (const pattern of ['(', 'a)(b', '[[:alpha:]]', 'a'.repeat(1001), '(?<n>a)(?<n>b)', '\\Z', 'a\\A']) {
      expect(match(pattern, 'aaa')).toBe(false)
    }
    expect(match('(?:(?:a{0,1000}){1000}){1000}', 'b')).toBeTypeOf('boolean')
  })
})

describe('meaning', () => {
  const piece = fc.constantFrom(
    'a',
    'b',
    '.',
    '\\w',
    '[ab]',
    '[^a]',
    '\\d',
    '^',
    '$',
    '\\b',
    '(a|b)',
    '(?:ab)',
    '(?=a)',
    '(?!b)',
    '(a)\\1',
    '\\p{L}',
    '😀',
  )
  const quantifier = fc.constantFrom('', '', '', '*', '+', '?', '{2}', '{1,3}', '*?', '{0,}')
  const patterns = fc
    .array(fc.tuple(piece, quantifier), { minLength: 1, maxLength: 5 })
    .map((parts) => parts.map(([one, many]) => (/^(?:[$^]|\\b|\(\?[=!])/.test(one) ? one : one + many)).join(''))
    .chain((first) => fc.constantFrom(first, `^${first}$`, `(?:${first})?b`, `(${first}){1,2}`, `${first}|b`))
  const texts = fc
    .array(fc.constantFrom('a', 'a', 'b', '1', '-', '😀', '\ud83d', '\n'), { maxLength: 12 })
    .map((l) => l.join(''))

  test('what the matcher finds is what the pattern alone finds (R34)', () => {
    fc.assert(
      fc.property(patterns, texts, (pattern, value) => {
        const expected = new RegExp(pattern, 'u').test(value)
        expect(patternRegExp(pattern)?.test(value)).toBe(expected)
        expect(boundedMatcher()(pattern, value)).toBe(expected)
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('a pattern that is legal only without the u flag (R54)', () => {
  test.each([
    ['^[\\w-/]+$', 'a-b/c', true],
    ['^[\\w-/]+$', 'a b', false],
    ['^a\\-b$', 'a-b', true],
    ['x{', 'x{', true],
    ['^.$', '😀', true],
    ['^..[\\w-/]?$', '😀', true],
    ['^.\\-?$', '😀', false],
  ])('%s finds in %s: %s', (pattern, value, expected) => {
    expect(boundedMatcher()(pattern, value)).toBe(expected)
  })
})

describe('Python’s named groups', () => {
  test.each([
    ['(?P<n>a)(?P=n)', '(?<n>a)\\k<n>'],
    ['\\(?P<n>', '\\(?P<n>'],
    ['[(?P<n>]', '[(?P<n>]'],
    ['[\\](?P<]', '[\\](?P<]'],
    ['\\[(?P<n>a)', '\\[(?<n>a)'],
    ['(?P<n>\\\\)', '(?<n>\\\\)'],
    ['plain', 'plain'],
  ])('%s is read as %s (R34)', (pattern, source) => {
    expect(patternSource(pattern)).toBe(source)
  })
})
