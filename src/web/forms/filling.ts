/** Computes the payload and the messages of a form that is being filled in. Pure; based on the fields of core/view. */
import type { FailingComponent } from '../../core/forms/validate.ts'
import type { Form, Payload } from '../../core/protocol/form.ts'
import { fieldsOf, submittedIn } from '../../core/view/fields.ts'

export interface Message {
  /** The field's id; null for a message about no particular field. */
  field: string | null
  text: string
}

/** The values of all visible fields. Values of fields that have disappeared are not included. */
export function payloadOf(form: Form, values: Payload): Payload {
  const payload: Payload = {}
  for (const field of fieldsOf(form)) {
    const value = submittedIn(field, values)
    if (value === undefined) continue
    Object.defineProperty(payload, field.id, { value, writable: true, enumerable: true, configurable: true })
  }
  return payload
}

/** All messages with their fields, in order. Messages of the server that belong to no field come last. */
export function messagesOf(failing: readonly FailingComponent[] | null, serverMessages: readonly string[]): Message[] {
  const own = (failing ?? []).flatMap(({ component, messages }) =>
    messages.map((text) => ({ field: component, text }) as Message),
  )
  if (serverMessages.length === 0) return own
  const left = [...serverMessages]
  const explained = own.filter(({ text }) => {
    const at = left.indexOf(text)
    if (at !== -1) left.splice(at, 1)
    return at !== -1
  })
  return [...explained, ...left.map((text) => ({ field: null, text }))]
}

export function byField(messages: readonly Message[]): ReadonlyMap<string, readonly string[]> {
  const map = new Map<string, string[]>()
  for (const { field, text } of messages) {
    if (field === null) continue
    const known = map.get(field)
    if (known === undefined) map.set(field, [text])
    else known.push(text)
  }
  return map
}
