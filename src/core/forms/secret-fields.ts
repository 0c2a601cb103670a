/**
 * Separates the values of secret fields from a payload (R55): they are sealed where the rest is stored. The host and the terminal
 * call it.
 */
import type { Form, Payload } from '../protocol/form.ts'

export interface SplitPayload {
  /** What may be stored and shown. */
  open: Payload
  /** The values of the secret fields that were given; null where none was. */
  secret: Payload | null
}

/** The ids of the secret fields, in the order of the form. */
export function secretIds(form: Form | null): string[] {
  return form === null ? [] : form.components.filter(isSecret).map(({ id }) => id)
}

export function splitSecrets(form: Form | null, payload: Payload): SplitPayload {
  const ids = secretIds(form).filter((id) => Object.hasOwn(payload, id))
  if (ids.length === 0) return { open: payload, secret: null }
  const entries = Object.entries(payload)
  return {
    open: Object.fromEntries(entries.filter(([id]) => !ids.includes(id))),
    secret: Object.fromEntries(entries.filter(([id]) => ids.includes(id))),
  }
}

/** Every text in a value, however deep: what is searched for in what a resolver says. */
export function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return value === '' ? [] : [value]
  if (typeof value === 'number') return [String(value)]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(textsIn)
}

function isSecret(component: Form['components'][number]): boolean {
  return component.type === 'text' && component.secret === true
}
