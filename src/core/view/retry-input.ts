/** The input of an instance that is run again: for `instance retry` and POST retry. Pure. */
import type { Payload } from '../protocol/form.ts'
import type { CreationRecord } from '../protocol/journal.ts'

export interface RetryInput {
  /** As before, with the changes. */
  input: Payload
  /** Secret fields that were given before and must be given again, because their values are not shown to anyone. */
  missing: string[]
}

export function retryInput(before: Pick<CreationRecord, 'input' | 'secret_fields'>, changes: Payload): RetryInput {
  const secret = before.secret_fields ?? []
  const kept = Object.entries(before.input).filter(([field]) => !secret.includes(field))
  return {
    input: { ...Object.fromEntries(kept), ...changes },
    missing: secret.filter((field) => !Object.hasOwn(changes, field)),
  }
}

const AGAIN = 'give this secret again'

/** One message for each missing field. */
export function askAgain(missing: readonly string[]): { errors: string[]; fields: { id: string; message: string }[] } {
  const fields = missing.map((id) => ({ id, message: AGAIN }))
  return { errors: missing.map((id) => `${id}: ${AGAIN}`), fields }
}
