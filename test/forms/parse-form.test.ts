import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseForm } from '../../src/core/forms/parse-form.ts'
import { validate } from '../../src/core/forms/validate.ts'
import type { Form } from '../../src/core/protocol/form.ts'
import { email as emailRule, form as formOf, optional, regex, select, text } from '../../src/sdk/index.ts'
import { forms } from './arbitraries.ts'

const form = (...components: unknown[]) => ({ type: 'form', components })
const checked = (...conditions: unknown[]) =>
  form({ type: 'text', id: 'email', checks: conditions.map((condition) => ({ condition, message: 'm' })) })
const conditionOf = (condition: unknown) => {
  const { form: parsed, errors } = parseForm(checked(condition))
  expect(errors).toEqual([])
  return parsed?.components[0]?.checks?.[0]?.condition
}
const path = { path: '/f' }
const nested = (levels: number, inner: unknown = true): unknown => {
  let condition = inner
  for (let level = 0; level < levels; level += 1) condition = { call: 'not', args: { condition } }
  return condition
}

describe('what is a form', () => {
  test('the four components keep what the spec gives them (S-FORM-01, S-FORM-03, S-FORM-04, S-FORM-05)', () => {
    const given = form(
      { type: 'text', id: 'a', label: 'A', placeholder: 'p', description: 'd', checks: [] },
      { type: 'textarea', id: 'b', label: 'B', placeholder: 'p', description: 'd' },
      { type: 'select', id: 'c', label: 'C', options: [{ value: 'x', label: 'X' }], default: 'x' },
      {
        type: 'checkbox',
        id: 'd',
        label: 'D',
        description: 'd',
        default: false,
        checks: [{ condition: true, message: 'm' }],
      },
    )
    expect(parseForm(given)).toEqual({ form: given, errors: [] })
  })

  test('a form without components, and a select without options, are forms', () => {
    expect(parseForm(form()).form).toEqual(form())
    expect(parseForm(form({ type: 'select', id: 'a', options: [] })).errors).toEqual([])
  })

  test('null stands for a key left out, and keys outside the dialect are dropped', () => {
    const given = form({ type: 'text', id: 'a', label: null, checks: null, placeholder: null, required: true })
    expect(parseForm(given).form).toEqual(form({ type: 'text', id: 'a' }))
  })

  test.each([
    [undefined, 'The form is missing, not an object.'],
    [null, 'The form is null, not an object.'],
    [[], 'The form is a list, not an object.'],
    ['form', 'The form is the text "form", not an object.'],
  ])('%j is not a form (S-FORM-01)', (value, sentence) => {
    expect(parseForm(value)).toEqual({ form: null, errors: [sentence] })
  })

  test('what the SDK writes is well formed (R31)', () => {
    const written = formOf({
      mail: text({ required: true, checks: [{ condition: emailRule(), message: 'm' }] }),
      size: select({ options: ['s', 'l'], default: 's' }),
      code: text({ checks: [{ condition: optional(regex('^\\d+$')), message: 'm' }] }),
    })
    expect(parseForm(written)).toEqual({ form: written, errors: [] })
  })
})

describe('upstream argument shapes', () => {
  test.each([
    [
      { call: 'and', args: { values: [true, path] } },
      { call: 'and', args: { conditions: [true, path] } },
    ],
    [
      { call: 'or', args: { values: [path] } },
      { call: 'or', args: { conditions: [path] } },
    ],
    [
      { call: 'or', args: { conditions: [path] } },
      { call: 'or', args: { conditions: [path] } },
    ],
    [
      { call: 'and', args: [true, path] },
      { call: 'and', args: { conditions: [true, path] } },
    ],
    [
      { call: 'not', args: { value: path } },
      { call: 'not', args: { condition: path } },
    ],
    [
      { call: 'not', args: [path] },
      { call: 'not', args: { condition: path } },
    ],
    [
      { call: 'not', args: path },
      { call: 'not', args: { condition: path } },
    ],
    [
      { call: 'not', args: { value: false } },
      { call: 'not', args: { condition: false } },
    ],
    [
      { call: 'required', args: { value: path } },
      { call: 'required', args: [path] },
    ],
    [
      { call: 'email', args: { value: path }, returnType: 'boolean' },
      { call: 'email', args: [path] },
    ],
    [
      { call: 'length', args: { value: path, min: 1, max: null } },
      { call: 'length', args: { value: path, min: 1 } },
    ],
  ])('%j is read as the spec writes it (R29)', (given, expected) => {
    expect(conditionOf(given)).toEqual(expected)
  })
})

describe('malformed conditions are an error of the author', () => {
  const where = 'Component "email", check 1'
  test.each([
    [undefined, 'the condition is missing, not true, false, {path} or {call, args}'],
    ['true', 'the condition is the text "true", not true, false, {path} or {call, args}'],
    [{}, 'the condition has neither a path nor a call'],
    [{ path: '/a', call: 'not' }, 'the condition has both a path and a call'],
    [{ path: '/' }, 'the path of the condition names no field'],
    [{ path: 5 }, 'the condition is not {path: "/field"}'],
    [
      { call: 'startsWith', args: [path] },
      'the call is the text "startsWith"; the calls are required, regex, length, numeric, email, and, or, not',
    ],
    [
      { call: '__proto__', args: [path] },
      'the call is the text "__proto__"; the calls are required, regex, length, numeric, email, and, or, not',
    ],
    [{ call: 'required' }, 'the argument of "required" is not {path: "/field"}'],
    [{ call: 'required', args: [path, path] }, 'the argument of "required" is not {path: "/field"}'],
    [{ call: 'email', args: ['/f'] }, 'the argument of "email" is not {path: "/field"}'],
    [{ call: 'email', args: { value: 'a@b.co' } }, 'the argument of "email" is not {path: "/field"}'],
    [{ call: 'regex', args: [path, 'x'] }, 'the args of "regex" are not {value, pattern}'],
    [{ call: 'regex', args: { value: path } }, 'the pattern is missing, not a text'],
    [
      { call: 'regex', args: { value: path, pattern: 'x', flags: 'i' } },
      '"regex" has no argument "flags"; its arguments are value, pattern',
    ],
    [
      { call: 'regex', args: { value: path, pattern: '(' } },
      'the pattern is not a JavaScript regular expression (Unterminated group)',
    ],
    [
      { call: 'regex', args: { value: path, pattern: 'a)(b' } },
      "the pattern is not a JavaScript regular expression (Unmatched ')')",
    ],
    [
      { call: 'regex', args: { value: path, pattern: '[[:alpha:]]' } },
      'the pattern has a POSIX class like [[:alpha:]]; write \\p{L}, \\d or \\s',
    ],
    [{ call: 'regex', args: { value: path, pattern: 'a'.repeat(1001) } }, 'the pattern is longer than 1000 characters'],
    [
      { call: 'regex', args: { value: path, pattern: '\\P{Cn}'.repeat(17) } },
      'the pattern has more than 16 of \\p, \\P, \\b and \\B',
    ],
    [{ call: 'length', args: { min: 1 } }, 'the value of "length" is not {path: "/field"}'],
    [
      { call: 'length', args: { value: path, min: 1.5 } },
      'the min of "length" is the number 1.5, not a whole number from 0',
    ],
    [
      { call: 'length', args: { value: path, max: '5' } },
      'the max of "length" is the text "5", not a whole number from 0',
    ],
    [{ call: 'numeric', args: { value: path, max: true } }, 'the max of "numeric" is true, not a number'],
    [{ call: 'numeric', args: { value: path, min: 2, max: 1 } }, 'the min of "numeric" (2) is above its max (1)'],
    [
      { call: 'length', args: { value: path, maximum: 5 } },
      '"length" has no argument "maximum"; its arguments are value, min, max',
    ],
    [{ call: 'and', args: { conditions: [] } }, '"and" has no conditions'],
    [{ call: 'or', args: { conditions: [true], values: [true] } }, 'the args of "or" are not {conditions: [...]}'],
    [{ call: 'and', args: { conditions: true } }, 'the args of "and" are not {conditions: [...]}'],
  ])('%j (R30, S-FORM-10)', (condition, problem) => {
    expect(parseForm(checked(condition))).toEqual({ form: null, errors: [`${where}: ${problem}.`] })
  })

  test('a fault inside and, or, not is reported with its path (R30)', () => {
    const inner = { call: 'and', args: { conditions: [true, { call: 'not', args: { condition: 'x' } }] } }
    expect(parseForm(checked(true, inner)).errors).toEqual([
      'Component "email", check 2, condition 2 of "and", condition of "not": the condition is the text "x", not true, false, {path} or {call, args}.',
    ])
  })
})

describe('every fault at once', () => {
  test('each sentence names its component and its check (R30)', () => {
    const given = {
      type: 'page',
      components: [
        { type: 'text', id: 'ok' },
        { type: 'slider', id: 'ok', label: 5 },
        'text',
        { type: 'text', id: '' },
        { type: 'text', id: 'a/b' },
        { type: 'text', id: 'constructor' },
        { type: 'select', id: 's', options: [{ value: [1], label: 'One' }, { value: 'x' }], default: {} },
        { type: 'checkbox', id: 'c', default: 'yes', checks: 'none' },
        { type: 'text', id: 't', checks: [{ condition: true }, { condition: true, message: '' }, 'x'] },
      ],
    }
    expect(parseForm(given)).toEqual({
      form: null,
      errors: [
        'The form: its type is the text "page", not the text "form".',
        'Component 2: its id "ok" is taken by an earlier component.',
        'Component "ok": its label is the number 5, not a text.',
        'Component "ok": its type is the text "slider"; the types are text, textarea, select, checkbox.',
        'Component 3: it is the text "text", not an object.',
        'Component 4: its id is the text "", not a name.',
        'Component 5: its id "a/b" has a "/", which no path could name.',
        'Component 6: "constructor" can\'t be an id.',
        'Component "s", option 1: its value is a list, not a text, a number, true or false.',
        'Component "s", option 2: its label is missing.',
        'Component "s": its default is an object, not a text, a number, true or false.',
        'Component "c": its checks are the text "none", not a list.',
        'Component "c": its default is the text "yes", not true or false.',
        'Component "t", check 1: its message is missing.',
        'Component "t", check 2: its message is missing.',
        'Component "t", check 3: it is the text "x", not {condition, message}.',
      ],
    })
  })

  test('an own __proto__ key counts neither as an id nor as a type (R30, R32)', () => {
    const given = JSON.parse(
      '{"type":"form","components":[{"__proto__":{"type":"text","id":"x"}},{"type":"text","id":"__proto__"}]}',
    )
    expect(parseForm(given).errors).toEqual([
      'Component 1: its id is missing, not a name.',
      'Component 1: its type is missing; the types are text, textarea, select, checkbox.',
      'Component 2: "__proto__" can\'t be an id.',
    ])
  })

  test('after 200 faults only the number of the others is reported', () => {
    const { errors } = parseForm(form(...Array.from({ length: 150 }, () => ({}))))
    expect(errors.length).toBe(201)
    expect(errors.at(-1)).toBe('And 100 more faults.')
  })
})

describe('limits', () => {
  const component = (id: string) => ({ type: 'text', id })
  const list = (length: number) => Array.from({ length }, (_, at) => `i${at}`)

  test('200 components, 1,000 options, depth 32 and 2,000 conditions are accepted, one more is refused (R30)', () => {
    const options = (count: number) =>
      form({ type: 'select', id: 's', options: list(count).map((value) => ({ value, label: value })) })
    const wide = (count: number) => checked({ call: 'and', args: { conditions: Array(count).fill(true) } })
    for (const taken of [form(...list(200).map(component)), options(1000), checked(nested(31)), wide(1999)]) {
      expect(parseForm(taken).errors).toEqual([])
    }
    expect(parseForm(form(...list(201).map(component))).errors).toEqual([
      'The form: it has 201 components; the limit is 200.',
    ])
    expect(parseForm(options(1001)).errors).toEqual(['Component "s": it has 1001 options; the limit is 1000.'])
    expect(parseForm(checked(nested(32))).errors).toEqual([expect.stringMatching(/conditions nest deeper than 32\.$/)])
    expect(parseForm(wide(2000)).errors).toEqual([expect.stringMatching(/the form has more than 2000 conditions\.$/)])
  })

  test('a text has at most 8,192 characters (R30)', () => {
    const long = 'x'.repeat(8193)
    const given = form({ type: 'text', id: 'a', label: long, checks: [{ condition: { path: long }, message: long }] })
    expect(parseForm(given).errors).toEqual([
      'Component "a": its label is longer than 8192 characters.',
      'Component "a", check 1: the path of the condition is longer than 8192 characters.',
      'Component "a", check 1: its message is longer than 8192 characters.',
    ])
  })

  test('a form whose patterns take seconds to read is refused in little time (R30, R34)', () => {
    const heavy = (at: number) => `${'[^\\p{L}\\p{N}]'.repeat(8)}${'(?i:\\w)'.repeat(100)}${at}`
    const patterns = Array.from({ length: 1_900 }, (_, at) => heavy(at))
    const given = checked(...patterns.map((pattern) => ({ call: 'regex', args: { value: path, pattern } })))
    const before = process.threadCpuUsage()
    expect(parseForm(given).errors[0]).toMatch(/check 38: the patterns of the form have more than 600 of /)
    expect(process.threadCpuUsage(before).user).toBeLessThan(1_000_000)
    const same = checked(...patterns.map(() => ({ call: 'regex', args: { value: path, pattern: heavy(0) } })))
    expect(parseForm(same).errors).toEqual([])
  })

  test('depth bombs are refused in little time (R30)', () => {
    let bomb: unknown = []
    for (let level = 0; level < 100_000; level += 1) bomb = { checks: bomb, call: 'not', args: [bomb] }
    for (const value of [
      bomb,
      form(bomb),
      checked(bomb),
      checked(nested(100_000)),
      form({ ...component('a'), checks: bomb }),
    ]) {
      expect(parseForm(value).form).toBe(null)
    }
  })
})

describe('any value', () => {
  const almost = fc.letrec<{ any: unknown }>((tie) => ({
    any: fc.oneof(
      { maxDepth: 6 },
      fc.constantFrom<unknown>(null, true, 0, 'form', 'text', 'select', 'not', 'and', 'regex', '/a', '(', ''),
      fc.array(tie('any'), { maxLength: 3 }),
      fc.dictionary(
        fc.constantFrom(
          ...[
            'type',
            'components',
            'id',
            'options',
            'default',
            'checks',
            'condition',
            'message',
            'call',
            'args',
            'path',
          ],
          ...['value', 'values', 'conditions', 'pattern', 'min', 'max', 'label', '__proto__', 'constructor'],
        ),
        tie('any'),
        { maxKeys: 5 },
      ),
    ),
  })).any

  test('parseForm returns a form or faults, and never throws (R30)', () => {
    const anything = fc.oneof(
      fc.jsonValue(),
      almost,
      fc.array(almost).map((components) => form(...components)),
    )
    fc.assert(
      fc.property(anything, (value) => {
        const { form: parsed, errors } = parseForm(value)
        expect(parsed === null).toBe(errors.length > 0)
        if (parsed !== null) expect(validate(parsed, {}, () => false)).toBeInstanceOf(Array)
      }),
      { numRuns: 2_000 },
    )
  })

  // verifies: S-VER-01
  test('a well-formed form is parsed to an equal copy (R29)', () => {
    fc.assert(
      fc.property(forms, (given: Form) => {
        const frozen = JSON.stringify(given)
        const { form: once } = parseForm(given)
        expect(once).toEqual(given)
        for (const component of once?.components ?? []) component.label = 'changed'
        expect(JSON.stringify(given)).toBe(frozen)
      }),
      { numRuns: 300 },
    )
  })
})
