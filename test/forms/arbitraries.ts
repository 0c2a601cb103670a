/** Random forms, payloads and hostile values for the property tests of this folder. */
import fc from 'fast-check'
import type { Check, Component, DynamicBoolean, Form } from '../../src/core/protocol/form.ts'

const IDS = ['name', 'age', 'mail', 'tags', 'deep', 'toString', 'a b']

export const paths = fc.constantFrom(
  ...IDS.map((id) => `/${id}`),
  'name',
  '/deep/name',
  '/deep/tags/0',
  '/tags/0',
  '/tags/1/name',
  '/tags/length',
  '/__proto__',
  '/constructor/name',
  '/missing/below',
)

const binding = paths.map((path) => ({ path }))
const numberBound = fc.option(fc.constantFrom(-1, 0, 0.5, 1, 2, 3, 10), { nil: undefined })

function bounds(low: number | undefined, high: number | undefined, whole: boolean) {
  const usable = [low, high].map((bound) => (whole && bound !== undefined ? Math.max(0, Math.floor(bound)) : bound))
  const [min, max] = usable
  const swap = min !== undefined && max !== undefined && min > max
  const [least, most] = swap ? [max, min] : [min, max]
  return { ...(least === undefined ? {} : { min: least }), ...(most === undefined ? {} : { max: most }) }
}

export const conditions: fc.Arbitrary<DynamicBoolean> = fc.letrec<{ any: DynamicBoolean; leaf: DynamicBoolean }>(
  (tie) => ({
    leaf: fc.oneof(
      fc.boolean(),
      binding,
      fc.tuple(fc.constantFrom('required' as const, 'email' as const), binding).map(([call, value]) => ({
        call,
        args: [value] as [{ path: string }],
      })),
      fc
        .tuple(binding, fc.constantFrom('a', '^\\d+$', '^.{1,3}$', 'x|y', '\\p{L}'))
        .map(([value, pattern]) => ({ call: 'regex' as const, args: { value, pattern } })),
      fc.tuple(fc.constantFrom('length' as const, 'numeric' as const), binding, numberBound, numberBound).map(
        ([call, value, low, high]): DynamicBoolean => ({
          call,
          args: { value, ...bounds(low, high, call === 'length') },
        }),
      ),
    ),
    any: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      tie('leaf'),
      fc
        .tuple(fc.constantFrom('and' as const, 'or' as const), fc.array(tie('any'), { minLength: 1, maxLength: 3 }))
        .map(([call, list]) => ({ call, args: { conditions: list } })),
      tie('any').map((condition) => ({ call: 'not' as const, args: { condition } })),
    ),
  }),
).any

let serial = 0
const checks: fc.Arbitrary<Check[]> = fc.array(
  conditions.map((condition) => ({ condition, message: `message ${serial++}` })),
  { maxLength: 4 },
)

export const forms: fc.Arbitrary<Form> = fc
  .uniqueArray(fc.constantFrom(...IDS), { maxLength: IDS.length })
  .chain((ids) =>
    fc.tuple(
      ...ids.map((id) =>
        fc
          .tuple(fc.constantFrom('text', 'textarea', 'select', 'checkbox'), checks, fc.boolean())
          .map(([type, own, filled]): Component => {
            const base = { id, checks: own, ...(filled ? { label: `Label of ${id}`, description: '' } : {}) }
            if (type === 'select') return { type, ...base, options: [{ value: 'a', label: 'A' }], default: 'zz' }
            if (type === 'checkbox') return { type, ...base, ...(filled ? { default: true } : {}) }
            return { type: type as 'text' | 'textarea', ...base, ...(filled ? { placeholder: 'p' } : {}) }
          }),
      ),
    ),
  )
  .map((components) => ({ type: 'form', components }))

const scalars = fc.constantFrom<unknown>(
  ...['', 'a', 'abc', 'x@y.z', '5', ' 5 ', '1e3', '0x10', '1_000', 'NaN', 'é@ü.de', '😀😀', '\ud800', 'false'],
  ...[0, 1, 2.5, -3, true, false, null],
)

const values = fc.oneof(
  { weight: 4, arbitrary: scalars },
  { weight: 1, arbitrary: fc.array(scalars, { maxLength: 3 }) },
  { weight: 1, arbitrary: fc.dictionary(fc.constantFrom('name', 'tags', '0', 'length'), scalars, { maxKeys: 3 }) },
  { weight: 1, arbitrary: fc.jsonValue() },
)

/** What JSON.parse can give: also with own `__proto__` keys. */
export const payloads = fc
  .dictionary(fc.constantFrom(...IDS, '__proto__', 'constructor'), values)
  .map((payload) => JSON.parse(JSON.stringify(payload)) as Record<string, unknown>)
