/** The input of an instance that is run again: for `instance retry` and POST retry. Pure. */
import type { Component, Form, Payload } from '../protocol/form.ts'

/**
 * The input as before, with the changes. A secret field is asked again: its value was not kept, or must not be used without the person who gave
 * it.
 */
export function retryInput(before: Payload, form: Form | null, changes: Payload): Payload {
  const secret = new Set((form?.components ?? []).filter(isSecret).map(({ id }) => id))
  return { ...Object.fromEntries(Object.entries(before).filter(([field]) => !secret.has(field))), ...changes }
}

function isSecret(component: Component): boolean {
  return (component as { secret?: unknown }).secret === true
}
