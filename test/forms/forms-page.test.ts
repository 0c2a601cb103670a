import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseForm } from '../../src/core/forms/parse-form.ts'
import * as limits from '../../src/core/limits.ts'

const page = readFileSync(new URL('../../docs/forms.md', import.meta.url), 'utf8')
const examples = [...page.matchAll(/^```json\n([\s\S]*?)^```/gm)].map(([, text = '']) => JSON.parse(text))

test('every example of docs/forms.md is well formed as it stands (R29)', () => {
  expect(examples.length).toBeGreaterThanOrEqual(8)
  for (const example of examples) {
    const isForm = example.type === 'form'
    const component = { type: 'text', id: 'f', checks: [{ condition: example, message: 'm' }] }
    const given = isForm ? example : { type: 'form', components: [component] }
    expect(parseForm(given)).toEqual({ form: given, errors: [] })
  }
})

test('docs/forms.md shows every function, and the limits of the code (R30)', () => {
  const shown = JSON.stringify(examples)
  for (const call of ['required', 'regex', 'length', 'numeric', 'email', 'and', 'or', 'not']) {
    expect(shown).toContain(`"call":"${call}"`)
  }
  const figures = [...(page.split('## Limits')[1] ?? '').matchAll(/\| ([^|]*\d[^|]*) \|$/gm)].flatMap(
    ([, cell = '']) => cell.replaceAll(',', '').match(/\d+/g) ?? [],
  )
  const expected = [
    limits.FORM_MAX_COMPONENTS,
    limits.FORM_MAX_OPTIONS,
    limits.FORM_MAX_DEPTH,
    limits.FORM_MAX_CONDITIONS,
    limits.FORM_MAX_STRING_CHARS,
    limits.PATTERN_MAX_CHARS,
    limits.PATTERN_MAX_COSTLY_ESCAPES,
    limits.FORM_MAX_COSTLY_ESCAPES,
    limits.PATTERN_LIMIT_MS,
    limits.PATTERN_FORM_LIMIT_MS,
    limits.PATTERN_VALUE_MAX_CHARS,
  ]
  expect(figures).toEqual(expected.map(String))
})
