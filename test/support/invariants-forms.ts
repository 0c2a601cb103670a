/** I13 of forms: a 422 lists exactly the messages that fail, all and in order, as a second reading of the dialect finds them (reliability, Invariants). */
import { isDeepStrictEqual } from 'node:util'
import type { Form } from '../../src/core/protocol/form.ts'
import { referenceMessages } from '../forms/reference.ts'
import type { Left, Report } from './invariants.ts'
import { type Exchange, routeOf } from './invariants-http.ts'

export function checkForms({ creation, lines }: Left, answers: readonly Exchange[], report: Report): void {
  const own = `/instances/${creation.instance_id}`
  for (const [index, { method, path, status, sent, body }] of answers.entries()) {
    const route = routeOf(path)
    if (method !== 'POST' || !route.startsWith(`${own}/`)) continue
    const { payload, form } = route.startsWith(`${own}/input-requests/`)
      ? { payload: sent, form: formOfRequest(lines, decodeURIComponent(route.split('/').at(-1) as string)) }
      : formOfMessage(own, sent, answers.slice(0, index))
    if (form === undefined) continue
    const expected = referenceMessages(form, payload)
    const where = `${method} ${path} → ${status}`
    if (status === 422) {
      const { errors } = body as { errors?: unknown }
      if (!isDeepStrictEqual(errors, expected)) {
        report('I13', `${where}: lists ${JSON.stringify(errors)}, and what fails is ${JSON.stringify(expected)}`)
      }
    } else if (status < 300 && expected.length > 0) report('I13', `${where}: accepts what fails`)
  }
}

function formOfRequest(lines: Left['lines'], rid: string): Form | undefined {
  const asked = lines.findLast(
    ({ event }) => event.event_type === 'platform.input.requested' && event.data['request_id'] === rid,
  )
  return asked?.event.data['schema'] as Form | undefined
}

/** The form that the last list of message types before it told; a list may change with the state, so none is no fault. */
function formOfMessage(own: string, sent: unknown, before: readonly Exchange[]): { payload: unknown; form?: Form } {
  const { message_type: type, payload } = (sent ?? {}) as { message_type?: unknown; payload?: unknown }
  const told = before.findLast(
    ({ method, path, status }) => method === 'GET' && status === 200 && routeOf(path) === `${own}/message-types`,
  )
  const types = (told?.body ?? []) as { name: string; schema: Form }[]
  const form = types.find(({ name }) => name === type)?.schema
  return form === undefined ? { payload } : { payload, form }
}
