/**
 * Finds the field that each failing message of a form is about: for {@link file://./remote.ts}, since a refusal has messages
 * only (R7).
 */
import { failingChecks } from '../../forms/validate.ts'
import type { Check, Form, Payload } from '../../protocol/form.ts'

type FieldMessage = { id: string; message: string }

/**
 * The messages in their order, each with its field; none where the form does not show them for certain. The form's patterns
 * come from a server and are not run here: the messages show whether a check with a pattern failed.
 */
export function fieldsOf(form: Form, payload: Payload, errors: readonly string[]): FieldMessage[] {
  const plain = form.components.map((one) => ({
    ...one,
    checks: (one.checks ?? []).filter((check) => !isPattern(check)),
  }))
  const failing = failingChecks({ ...form, components: plain } as Form, payload, () => true)
  const mayFail = form.components.flatMap(({ id, checks = [] }) => {
    const messages = failing.find(({ component }) => component === id)?.messages ?? []
    const ofChecks = checks
      .filter((check) => isPattern(check) || messages.includes(check.message))
      .map(({ message }) => ({ id, message }))
    // What follows from the format of the field is no message of a check.
    const ofFormat = messages.filter((message) => !checks.some((check) => check.message === message))
    return [...ofChecks, ...ofFormat.map((message) => ({ id, message }))]
  })
  // Two fields may have the same message: the match is certain only where a search from the front and one from the back
  // agree.
  const found = inOrder(mayFail, errors)
  const again = inOrder(mayFail.toReversed(), errors.toReversed()).toReversed()
  return JSON.stringify(found) === JSON.stringify(again) ? found : []
}

function inOrder(mayFail: readonly FieldMessage[], errors: readonly string[]): FieldMessage[] {
  const found: FieldMessage[] = []
  for (const one of mayFail) if (one.message === errors[found.length]) found.push(one)
  return found.length === errors.length ? found : []
}

function isPattern({ condition }: Check): boolean {
  return JSON.stringify(condition).includes('"call":"regex"')
}
