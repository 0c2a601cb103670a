/** A field for a feature spec in a form: parsing, messages, the declaration of the SDK. */
import { expect, test } from 'vitest'
import { EXAMPLE_FEATURE_SPEC as EXAMPLE } from '../../src/core/feature-spec/example.ts'
import { parseForm } from '../../src/core/forms/parse-form.ts'
import { failingChecks, validate } from '../../src/core/forms/validate.ts'
import { fieldsOf as fieldsOfRefusal } from '../../src/core/platform/remote/form-fields.ts'
import type { Form } from '../../src/core/protocol/form.ts'
import { fieldsOf } from '../../src/core/view/fields.ts'
import { form as declared, text, textarea } from '../../src/sdk/forms/fields.ts'

const never = () => false
const form = declared({
  spec: textarea({ label: 'Spec', format: 'feature-spec' }),
  name: text({ label: 'Name', required: true }),
}) as Form
const faulty = EXAMPLE.replace('Add notes', 'Adds notes').replace('(200 OK)', '(2xx)')
const FAULTS = [
  'Line 3: The intent starts with "Adds", which is no verb in the imperative. Better: Add notes with a text to the existing API.',
  'Line 23: "2xx" is not one status. Better: 201 instead of 2xx',
]

test('the declaration of the SDK is well formed, and its field has the format', () => {
  expect(parseForm(form)).toEqual({ form, errors: [] })
  expect(fieldsOf(form).map(({ format }) => format)).toEqual(['feature-spec', null])
})

test('every fault is a message of its field, in the order of the components', () => {
  expect(validate(form, { spec: faulty }, never)).toEqual([...FAULTS, 'Name is required'])
  expect(failingChecks(form, { spec: faulty }, never)).toEqual([
    { component: 'spec', messages: FAULTS },
    { component: 'name', messages: ['Name is required'] },
  ])
})

test('a missing and an empty text pass, a spec without a fault too; what is no text does not', () => {
  for (const spec of [undefined, null, '', EXAMPLE]) expect(validate(form, { spec, name: 'n' }, never)).toEqual([])
  for (const spec of [7, true, ['a'], { a: 1 }])
    expect(validate(form, { spec, name: 'n' }, never)).toEqual(['A feature spec is a text.'])
})

test('a field shows 20 faults and the number of the others', () => {
  const messages = validate(
    form,
    { spec: EXAMPLE.replace('## Proof', `${'## Other\n'.repeat(50)}## Proof`), name: 'n' },
    never,
  )
  expect(messages.length).toBe(21)
  expect(messages.at(-1)).toBe('And 30 more faults.')
})

test('a client of the HTTP API finds the field of each fault again', () => {
  const errors = validate(form, { spec: faulty }, never)
  expect(fieldsOfRefusal(form, { spec: faulty }, errors).map(({ id }) => id)).toEqual(['spec', 'spec', 'name'])
})

test('an unknown format of a textarea, and this format on another type of field, is a fault of the form', () => {
  const errorsOf = (component: object) => parseForm({ type: 'form', components: [{ id: 'a', ...component }] }).errors
  expect(errorsOf({ type: 'textarea', format: 'feature_spec' })).toEqual([
    'Component "a": its format is the text "feature_spec"; the formats are feature-spec.',
  ])
  expect(errorsOf({ type: 'text', format: 'feature-spec' })).toEqual([
    'Component "a": only a field of type textarea can have the format "feature-spec".',
  ])
  expect(errorsOf({ type: 'text', format: 'email' })).toEqual([])
  expect(errorsOf({ type: 'textarea', format: null })).toEqual([])
})
