/** The values of a form's fields, as the terminal and the page show and submit them. */
import { expect, test } from 'vitest'
import type { Form } from '../../src/core/protocol/form.ts'
import { fieldsOf, submittedIn, valueIn } from '../../src/core/view/fields.ts'

const form: Form = {
  type: 'form',
  components: [
    {
      id: 'size',
      type: 'select',
      default: 2,
      options: [
        { value: 1, label: 'One' },
        { value: 2, label: 'Two' },
        { value: false, label: 'None' },
      ],
    },
  ],
}

test('an option is compared as text and submitted as it is declared (R51)', () => {
  const [field] = fieldsOf(form)
  if (field === undefined) expect.fail('no field')
  expect(field.options.map(({ value }) => value)).toEqual(['1', '2', 'false'])
  for (const [given, shown, submitted] of [
    [undefined, '2', 2],
    ['1', '1', 1],
    [1, '1', 1],
    ['false', 'false', false],
    [false, 'false', false],
    ['7', '2', 2],
  ]) {
    const values = given === undefined ? {} : { size: given }
    expect([valueIn(field, values), submittedIn(field, values)]).toEqual([shown, submitted])
  }
})
