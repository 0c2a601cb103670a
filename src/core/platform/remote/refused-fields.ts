/** A refused form has only messages over HTTP (R7): this finds the field of each message. */
import { fail, ResolveError } from '../../errors.ts'
import type { Form, FormCheck, Payload } from '../../protocol/form.ts'

/** `find` judges the same values again; its fields are used where its messages are those of the refusal. Throws what `call` throws. */
export async function withFields<T>(
  call: () => Promise<T>,
  find: (errors: readonly string[]) => Promise<FormCheck['fields']>,
): Promise<T> {
  try {
    return await call()
  } catch (error) {
    if (!(error instanceof ResolveError) || error.code !== 'form_invalid') throw error
    const found = await find(error.errors).catch(() => [])
    const isSame = JSON.stringify(found.map(({ message }) => message)) === JSON.stringify(error.errors)
    throw isSame ? fail('form_invalid', { errors: error.errors, fields: found }) : error
  }
}

export async function fieldsIn(
  form: Form | undefined,
  payload: Payload,
  errors: readonly string[],
): Promise<FormCheck['fields']> {
  if (form === undefined) return []
  const { fieldsOf } = await import('./form-fields.ts')
  return fieldsOf(form, payload, errors)
}
