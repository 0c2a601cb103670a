/** Forms for the tests of the terminal's forms, and keys pressed one after the other. */
import { failingChecks } from '../../src/core/forms/validate.ts'
import { boundedMatcher } from '../../src/core/index.ts'
import type { Component, Form, Payload } from '../../src/core/protocol/form.ts'
import type { FormKey } from '../../src/terminal/form/form-keys.ts'
import {
  beginForm,
  type Checker,
  type FormAction,
  type FormState,
  formReducer,
} from '../../src/terminal/form/form-state.ts'

export const check: Checker = (form, payload) => failingChecks(form, payload, boundedMatcher())
export const reduce = formReducer(check)

export const form = (...components: Component[]): Form => ({ type: 'form', components })

export const required = (id: string, message = `${id} is required`) => ({
  condition: { call: 'required' as const, args: [{ path: `/${id}` }] as [{ path: string }] },
  message,
})

export const subject: Component = { type: 'text', id: 'subject', label: 'Subject', checks: [required('subject')] }
export const note: Component = { type: 'textarea', id: 'note', label: 'Note' }
export const pace: Component = {
  type: 'select',
  id: 'pace',
  label: 'Pace',
  options: ['slow', 'brisk', 'instant'].map((value) => ({ value, label: value })),
  default: 'brisk',
}
export const plaque: Component = { type: 'checkbox', id: 'plaque', label: 'Plaque' }
export const inscription: Component = {
  type: 'text',
  id: 'inscription',
  label: 'Inscription',
  checks: [required('inscription')],
}
export const city: Component = {
  type: 'select',
  id: 'city',
  label: 'City',
  options: ['Amsterdam', 'Berlin', 'Bern', 'Dakar', 'Geneva', 'Havana', 'Oslo', 'Paris'].map((label) => ({
    value: label.toLowerCase(),
    label,
  })),
}

/** The form of a resolver that asks for an inscription once a plaque is wanted. */
export const growing = (input: Payload): Form =>
  form(subject, plaque, ...(input['plaque'] === true ? [inscription] : []))

export function begin(given: Form, before: Payload = {}, discloses = false): FormState {
  return beginForm(given, before, discloses, check)
}

type Pressed = Exclude<FormKey['type'], 'text'> | `"${string}"`

/** `"…"` types what is between the quotes; everything else is the name of a key. */
export function toKey(pressed: Pressed): FormKey {
  return pressed.startsWith('"') ? { type: 'text', text: pressed.slice(1, -1) } : ({ type: pressed } as FormKey)
}

export function press(state: FormState, ...keys: Pressed[]): FormState {
  return keys.reduce((now, key) => reduce(now, { type: 'key', key: toKey(key) }), state)
}

export function after(state: FormState, ...actions: FormAction[]): FormState {
  return actions.reduce(reduce, state)
}

export function errorsOf({ errors }: FormState): Record<string, readonly string[]> {
  return Object.fromEntries(errors)
}
