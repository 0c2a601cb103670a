/** Checks a payload against a form on the host, with the bounded matcher. Creation, answers and messages call it. */
import { fail, type ResolveError } from '../errors.ts'
import { failingChecks } from '../forms/validate.ts'
import type { Form, Payload } from '../protocol/form.ts'
import { boundedMatcher } from './matcher.ts'

/** `form_invalid` with every failing message in order (R35) and the field of each; undefined when all checks pass. */
export function formRefusal(form: Form | null, payload: Payload): ResolveError | undefined {
  if (form === null) return undefined
  const fields = failingChecks(form, payload, boundedMatcher()).flatMap(({ component, messages }) =>
    messages.map((message) => ({ id: component, message })),
  )
  if (fields.length === 0) return undefined
  return fail('form_invalid', { errors: fields.map(({ message }) => message), fields })
}
