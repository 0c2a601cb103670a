/** What is submitted and what is shown of a form that is being filled in: pure, over the fields of core/view. */
import type { FailingComponent } from '../../core/forms/validate.ts'
import type { Form, Payload } from '../../core/protocol/form.ts'
import { fieldsOf, valueIn } from '../../core/view/fields.ts'

export interface Message {
  /** Null for a message that is about no field in particular. */
  field: string | null
  text: string
}

/** Every visible field as it stands; what a field that has gone held is kept elsewhere and not part of it. */
export function payloadOf(form: Form, values: Payload): Payload {
  const payload: Payload = {}
  for (const field of fieldsOf(form)) {
    const value = valueIn(field, values)
    if (value === undefined) continue
    Object.defineProperty(payload, field.id, { value, writable: true, enumerable: true, configurable: true })
  }
  return payload
}

/** Every message with its field, in order; what the server says and no field explains comes last. */
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
