/**
 * Checking a payload against a form, as the host does it: a form without patterns against ajv, compiled once for an equal schema;
 * what 20 guarded patterns take; how long a hostile one holds the host.
 */
import { Ajv } from 'ajv'
import { boundedMatcher } from '../src/core/form-check/matcher.ts'
import { parseForm } from '../src/core/forms/parse-form.ts'
import { validate } from '../src/core/forms/validate.ts'
import type { Form, Payload } from '../src/core/protocol/form.ts'
import { inTurn, type Part, type Sample } from './figure.ts'
import { sized } from './quick.ts'

const SIZES = [6, 200]
const PAIRS = sized(9, 1)
/** The number of fields checked in one measurement, however they are spread over forms. */
const FIELDS = sized(600_000, 60_000)
const TIMED = sized(25, 3)

const nameOf = (fields: number) => `a valid form of ${fields} fields without patterns`
const PATTERNS = 'a valid form of 20 patterns'
const HOSTILE = 'a hostile pattern holds the host for'

export const forms: Part = {
  figures: [
    ...SIZES.map((fields) => ({ name: nameOf(fields), against: 'ajv, compiled', goal: { least: 0.5 } })),
    { name: PATTERNS, against: '–', goal: { most: 5 }, unit: 'ms' },
    // The limit of a pattern is 50 ms; the rest is the time to end it.
    { name: HOSTILE, against: '–', goal: { most: 52 }, unit: 'ms' },
  ],
  rounds: 3,
  round,
}

interface Kind {
  checks: (path: string) => unknown[]
  schema: Record<string, unknown>
  value: unknown
}

const value = (path: string) => ({ path })
const regex = (path: string, pattern: string) => ({ call: 'regex', args: { value: value(path), pattern } })
const required = (path: string) => ({ call: 'required', args: [value(path)] })

/** The checks of the form, repeated in turn. */
const KINDS: readonly Kind[] = [
  { checks: (path) => [required(path)], schema: { type: 'string', minLength: 1 }, value: 'Ada Lovelace' },
  {
    checks: (path) => [{ call: 'length', args: { value: value(path), min: 3, max: 80 } }],
    schema: { type: 'string', minLength: 3, maxLength: 80 },
    value: 'A sentence of some length.',
  },
  {
    checks: (path) => [{ call: 'numeric', args: { value: value(path), min: 1, max: 100 } }],
    schema: { type: 'number', minimum: 1, maximum: 100 },
    value: 42,
  },
  {
    checks: (path) => [
      {
        call: 'or',
        args: { conditions: [{ call: 'length', args: { value: value(path), max: 2 } }, required(path)] },
      },
    ],
    schema: {
      anyOf: [
        { type: 'string', maxLength: 2 },
        { type: 'string', minLength: 1 },
      ],
    },
    value: 'either way',
  },
]

async function round(): Promise<Sample[]> {
  const samples: Sample[] = []
  for (const fields of SIZES) samples.push(...(await compared(fields)))
  return [...samples, ...patterns(), ...hostile()]
}

function patterns(): Sample[] {
  const ids = Array.from({ length: 20 }, (_, n) => `field_${n}`)
  const form = formOf(ids.map((id, n) => [id, [regex(`/${id}`, `^[a-z]{2,8}-[0-9]{3}#${n}$`)]]))
  const payload = Object.fromEntries(ids.map((id, n) => [id, `alpha-123#${n}`]))
  return Array.from({ length: TIMED }, () => ({ figure: PATTERNS, value: timed(form, payload, 0) }))
}

function hostile(): Sample[] {
  const form = formOf([['field', [regex('/field', '^(a+)+$')]]])
  const payload = { field: `${'a'.repeat(60)}!` }
  return Array.from({ length: TIMED }, () => ({ figure: HOSTILE, value: timed(form, payload, 1) }))
}

function timed(form: Form, payload: Payload, failing: number): number {
  const begin = performance.now()
  if (validate(form, payload, boundedMatcher()).length !== failing) throw new Error('The form was judged otherwise.')
  return performance.now() - begin
}

function formOf(fields: readonly [id: string, conditions: unknown[]][]): Form {
  const components = fields.map(([id, conditions]) => ({
    type: 'text',
    id,
    checks: conditions.map((condition) => ({ condition, message: `${id} is not right.` })),
  }))
  const { form, errors } = parseForm({ type: 'form', components })
  if (form === null) throw new Error(errors.join('\n'))
  return form
}

async function compared(fields: number): Promise<Sample[]> {
  const ids = Array.from({ length: fields }, (_, n) => `field_${n}`)
  const kindOf = (n: number) => KINDS[n % KINDS.length] as Kind
  const form = formOf(ids.map((id, n) => [id, kindOf(n).checks(`/${id}`)]))
  const payload = Object.fromEntries(ids.map((id, n) => [id, kindOf(n).value]))
  const isValid = new Ajv({ allErrors: true }).compile({
    type: 'object',
    required: ids,
    properties: Object.fromEntries(ids.map((id, n) => [id, kindOf(n).schema])),
  })
  const times = FIELDS / fields
  const repeated = (holds: () => boolean) => () => {
    const begin = performance.now()
    for (let n = 0; n < times; n += 1) if (!holds()) throw new Error('The payload is valid.')
    return performance.now() - begin
  }
  // The budget of patterns is the form's own, as when a person hands one in.
  const ours = repeated(() => validate(form, payload, boundedMatcher()).length === 0)
  const bare = repeated(() => isValid(payload))
  await inTurn('warm', 2, ours, bare)
  return await inTurn(nameOf(fields), PAIRS, ours, bare)
}
