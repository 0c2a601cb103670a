/** The validator of answers: it decides as ajv does for every answer of the table, and says where a value does not fit. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EVENT_DATA } from '../../src/core/protocol/api/events.ts'
import { type JsonOperation, OPERATIONS, resultSchema } from '../../src/core/protocol/api/operations.ts'
import { inputRequest, instanceRecord } from '../../src/core/protocol/instance.ts'
import { fits, misfit } from '../../src/core/schema/fits.ts'
import {
  anyObject,
  closed,
  constant,
  count,
  either,
  listOf,
  nullable,
  number,
  object,
  oneOf,
  optional,
  type Schema,
  text,
} from '../../src/core/schema/schema.ts'

const ajv = new Ajv2020({ strict: false, validateFormats: false, validateSchema: false })

const answers = Object.keys(OPERATIONS).flatMap((name): [string, Schema][] => {
  const schema = resultSchema(name as JsonOperation) as Schema | undefined
  return schema === undefined ? [] : [[name, schema]]
})
const events = Object.entries(EVENT_DATA).flatMap(([name, schema]): [string, Schema][] =>
  schema === null ? [] : [[name, schema]],
)
const others: [string, Schema][] = [
  ['a map', anyObject({ additionalProperties: text() })],
  ['a closed object', closed({ a: text(), b: optional(count()) })],
  ['a choice', either(object({ is: constant(true) }), object({ is: constant(false), why: text({ minLength: 2 }) }))],
  [
    'limits',
    object({ few: listOf(number({ minimum: 0, maximum: 1 }), { maxItems: 2 }), word: text({ maxLength: 3 }) }),
  ],
  ['none or one of some', nullable(oneOf(['a', 'b']))],
]

describe.each([...answers, ...events, ...others])('%s', (_, schema) => {
  test('is decided as ajv decides it', () => {
    const judge = ajv.compile(schema)
    let good = 0
    fc.assert(
      fc.property(valueNear(schema), (value) => {
        if (judge(value)) good += 1
        expect(fits(schema, value), JSON.stringify(value)).toBe(judge(value))
      }),
      // A story has many fields, and each may be something else: few of them fit.
      { numRuns: 400, seed: 14 },
    )
    expect(good).toBeGreaterThan(0)
  })
})

test('where a value does not fit is told by our names and indexes, and never in words of the value', () => {
  const list = listOf(inputRequest)
  const request = { id: 'a', prompt: '', schema: { type: 'form', components: [] }, status: 'pending' }
  expect(misfit(list, [request])).toBeUndefined()
  expect(misfit(list, [request, { ...request, status: '\u001b[2J' }])).toBe('/1/status')
  expect(misfit(list, [{ ...request, schema: { type: 'form', components: [{}] } }])).toBe('/0/schema/components/0/id')
  expect(misfit(list, { '\u001b[2J': 1 })).toBe('/')
  expect(misfit(closed({ a: text() }), { a: '', '\u001b[2J': 1 })).toBe('/')
  expect(misfit(anyObject({ additionalProperties: text() }), { '\u001b[2J': 1 })).toBe('/')
})

test('a field that is only inherited is none', () => {
  expect(misfit(object({ toString: anyObject() }), {})).toBe('/toString')
  expect(fits(object({ constructor: optional(text()) }), {})).toBe(true)
  expect(misfit(instanceRecord, Object.create({ instance_id: '0123456789ab' }))).toBe('/instance_id')
})

type Keywords = Readonly<Record<string, unknown>>

/** Values that fit, or nearly do: some part of them may be something else. */
function valueNear(schema: Schema): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 30, arbitrary: fitting(schema) }, { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 1 }) })
}

function fitting(schema: Schema): fc.Arbitrary<unknown> {
  const { anyOf, enum: values, const: constant, type, pattern } = schema as Keywords
  if (anyOf !== undefined) return fc.oneof(...(anyOf as Schema[]).map(valueNear))
  if (values !== undefined) return fc.constantFrom(...(values as unknown[]))
  if (constant !== undefined) return fc.constant(constant)
  if (pattern !== undefined) {
    const samples = ['0123456789ab', 'hello', '1.2.3', '1.2.3-rc.1', 'Hello', '', '01.2.3']
    const good = samples.filter((sample) => new RegExp(pattern as string).test(sample))
    const like = fc.oneof({ weight: 30, arbitrary: fc.constantFrom(...good) }, fc.constantFrom(...samples))
    return types(type).includes('null') ? fc.oneof(like, fc.constant(null)) : like
  }
  return fc.oneof(...types(type).map((one) => ofType(one, schema)))
}

const types = (type: unknown) => (type === undefined ? ['anything'] : ([type].flat() as string[]))

function ofType(type: string, schema: Keywords): fc.Arbitrary<unknown> {
  switch (type) {
    case 'null':
      return fc.constant(null)
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return fc.oneof({ weight: 60, arbitrary: fc.nat() }, fc.integer(), fc.constant(0.5))
    case 'number':
      return fc.oneof({ weight: 60, arbitrary: fc.double({ min: 0, max: 1, noNaN: true }) }, fc.integer())
    case 'string':
      return fc.string({ maxLength: 6 })
    case 'array':
      return fc.array(valueNear((schema['items'] ?? {}) as Schema), { maxLength: 3 })
    case 'object':
      return objectOf(schema)
    default:
      return fc.jsonValue({ maxDepth: 1 })
  }
}

function objectOf({ properties = {}, required = [], additionalProperties }: Keywords): fc.Arbitrary<unknown> {
  const known = Object.entries(properties as Record<string, Schema>)
  const fields = Object.fromEntries(known.map(([name, inside]) => [name, rarelyElse(inside, known.length)]))
  const requiredKeys = required as string[]
  const whole = fc.record(fields, { requiredKeys })
  const lacking = fc.record(fields, { requiredKeys: requiredKeys.slice(1) })
  const isMap = typeof additionalProperties === 'object'
  const more = isMap ? valueNear(additionalProperties as Schema) : fc.jsonValue({ maxDepth: 0 })
  const wider = fc.tuple(whole, fc.dictionary(fc.string({ maxLength: 3 }), more, { maxKeys: 2 }))
  return fc.oneof(
    { weight: 16, arbitrary: whole },
    { weight: 1, arbitrary: lacking },
    { weight: isMap ? 8 : 2, arbitrary: wider.map(([value, rest]) => ({ ...rest, ...value })) },
  )
}

/** An object of many fields shall fit now and then. */
function rarelyElse(schema: Schema, siblings: number): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 12 * siblings, arbitrary: fitting(schema) },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 0 }) },
  )
}
