/** The fields of a form: the spec's shapes out, the author's types in (spec, A2UI v0.9 schema; R31, R36). */
import { describe, expect, expectTypeOf, test } from 'vitest'
import { valuesOf } from '../../src/sdk/forms/fields.ts'
import {
  and,
  checkbox,
  email,
  form,
  length,
  not,
  numeric,
  optional,
  or,
  regex,
  required,
  resolver,
  select,
  text,
  textarea,
  type ValuesOf,
} from '../../src/sdk/index.ts'

const path = '/f'

const conditionOf = (condition: ReturnType<typeof required>) =>
  form({ f: text({ checks: [{ condition, message: 'm' }] }) }).components[0]?.checks?.[0]?.condition

describe('checks', () => {
  test.each([
    ['required', required(), { call: 'required', args: [{ path }] }],
    ['email', email(), { call: 'email', args: [{ path }] }],
    ['regex', regex('^a'), { call: 'regex', args: { value: { path }, pattern: '^a' } }],
    ['length', length({ min: 1, max: 2 }), { call: 'length', args: { value: { path }, min: 1, max: 2 } }],
    ['numeric', numeric({ min: 0 }), { call: 'numeric', args: { value: { path }, min: 0 } }],
    ['not', not(true), { call: 'not', args: { condition: true } }],
    ['and', and({ path: '/a' }, false), { call: 'and', args: { conditions: [{ path: '/a' }, false] } }],
    ["another field's path", required('other'), { call: 'required', args: [{ path: '/other' }] }],
    ['a deeper path', required('/a/b'), { call: 'required', args: [{ path: '/a/b' }] }],
    [
      'optional (R31)',
      optional(regex('x')),
      {
        call: 'or',
        args: {
          conditions: [
            { call: 'not', args: { condition: { call: 'required', args: [{ path }] } } },
            { call: 'regex', args: { value: { path }, pattern: 'x' } },
          ],
        },
      },
    ],
    ['or', or(required(), email()), expect.objectContaining({ call: 'or' })],
  ])('%s', (_name, rule, shape) => {
    expect(conditionOf(rule)).toEqual(shape)
  })
})

describe('fields', () => {
  test('the four components hold the given values and no others', () => {
    const fields = {
      name: text({ label: 'Name', placeholder: 'Ada', description: 'Yours', required: true }),
      story: textarea({}),
      size: select({ options: ['s', { value: 'l', label: 'Large' }], default: 'l' }),
      sure: checkbox({ label: 'Sure', default: true }),
      hidden: undefined,
    }
    expect(form(fields)).toEqual({
      type: 'form',
      components: [
        {
          type: 'text',
          id: 'name',
          label: 'Name',
          placeholder: 'Ada',
          description: 'Yours',
          checks: [{ condition: { call: 'required', args: [{ path: '/name' }] }, message: 'Name is required' }],
        },
        { type: 'textarea', id: 'story' },
        {
          type: 'select',
          id: 'size',
          options: [
            { value: 's', label: 's' },
            { value: 'l', label: 'Large' },
          ],
          default: 'l',
        },
        { type: 'checkbox', id: 'sure', label: 'Sure', default: true },
      ],
    })
  })

  test('missing and null values get their defaults, other keys stay (R36)', () => {
    const fields = { size: select({ options: ['s', 'l'], default: 'l' }), sure: checkbox({}), name: text({}) }
    expect(valuesOf(fields, { extra: 1, size: null })).toEqual({ extra: 1, size: 'l', sure: false, name: undefined })
    expect(valuesOf(fields, { size: 's', sure: true, name: '' })).toEqual({ size: 's', sure: true, name: '' })
    const inherited = valuesOf({ constructor: text({}) }, {}) as Record<string, unknown>
    expect(inherited['constructor']).toBeUndefined()
  })
})

test('types follow from the fields', () => {
  const fields = {
    name: text({ required: true }),
    nick: text({}),
    story: textarea({ required: false }),
    size: select({ options: ['s', { value: 'l', label: 'Large' }] }),
    pace: select({ options: ['slow', 'fast'], default: 'slow' }),
    must: select({ options: ['a', 'b'], required: true }),
    sure: checkbox({}),
  }
  expectTypeOf<ValuesOf<typeof fields>>().toEqualTypeOf<{
    name: string
    nick: string | undefined
    story: string | undefined
    size: 's' | 'l' | undefined
    pace: 'slow' | 'fast'
    must: 'a' | 'b'
    sure: boolean
  }>()
  // @ts-expect-error a default outside the options
  select({ options: ['a', 'b'], default: 'c' })
})

test('run, phases and messages are typed by the definition', () => {
  const defined = resolver({
    name: 'typed',
    version: '1.0.0',
    phases: ['first', 'second'],
    params: (filled) => ({
      mode: select({ options: ['plain', 'deep'], default: 'plain' }),
      depth: filled['mode'] === 'deep' ? text({ required: true }) : undefined,
    }),
    messages: {
      note: {
        label: 'Note',
        description: 'A note',
        fields: { text: text({ required: true }), loud: checkbox({}) },
        on(payload, ctx) {
          expectTypeOf(payload.text).toEqualTypeOf<string>()
          expectTypeOf(payload.loud).toEqualTypeOf<boolean>()
          expectTypeOf(ctx.params.mode).toEqualTypeOf<'plain' | 'deep'>()
        },
      },
    },
    async run(ctx) {
      // verifies: S-CFG-03
      expectTypeOf(ctx.config.git_provider).toEqualTypeOf<{ type: string; base_url: string; token: string }>()
      expectTypeOf(ctx.config.capabilities).toEqualTypeOf<string[]>()
      expectTypeOf(ctx.params.mode).toEqualTypeOf<'plain' | 'deep'>()
      expectTypeOf(ctx.params.depth).toEqualTypeOf<string | undefined>()
      ctx.phase('second')
      // @ts-expect-error a phase that was not declared
      ctx.phase('third')
      const answer = await ctx.ask('go', 'Go?', { go: checkbox({}), why: text({}) })
      expectTypeOf(answer).toEqualTypeOf<{ go: boolean; why: string | undefined }>()
    },
  })
  expect(defined.messageTypes({})).toMatchObject([{ name: 'note', label: 'Note' }])
  expect(resolver({ name: 'bare', run: () => 'x' }).instantiationSchema(null)).toBeNull()
})
