/**
 * Reads an input request that a resolver wrote: `{id?, prompt, schema}` (spec, Input request; threats FS-13). The monitor calls
 * it.
 */
import { ResolveError } from '../../errors.ts'
import { parseForm } from '../../forms/parse-form.ts'
import { isObject } from '../../primitives/is-object.ts'
import type { Form } from '../../protocol/form.ts'

export type RequestRead =
  | { prompt: string; schema: Form }
  /** `mayBeHalf`: the file is not valid JSON, and may still be being written. */
  | { errors: string[]; mayBeHalf: boolean }

const PROMPT_MAX_CHARS = 16_384

/** undefined where the file vanished. */
export function readRequest(read: () => Buffer | undefined, id: string): RequestRead | undefined {
  let bytes: Buffer | undefined
  try {
    bytes = read()
  } catch (error) {
    if (error instanceof ResolveError) return { errors: [error.message], mayBeHalf: false }
    throw error
  }
  if (bytes === undefined) return undefined
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch {
    return { errors: [`The request file ${id}.json is not JSON.`], mayBeHalf: true }
  }
  if (!isObject(value)) {
    return { errors: [`The request file ${id}.json is not an object.`], mayBeHalf: false }
  }
  return parseRequest(value as Record<string, unknown>, id)
}

function parseRequest(value: Record<string, unknown>, id: string): RequestRead {
  const errors: string[] = []
  if (value['id'] !== undefined && value['id'] !== id) errors.push(`The request in ${id}.json has another id.`)
  const prompt = value['prompt'] ?? ''
  if (typeof prompt !== 'string') errors.push('The prompt is not a text.')
  else if (prompt.length > PROMPT_MAX_CHARS) errors.push(`The prompt is longer than ${PROMPT_MAX_CHARS} characters.`)
  const parsed = parseForm(value['schema'])
  if (parsed.form === null) errors.push(...parsed.errors)
  if (errors.length > 0 || parsed.form === null) return { errors, mayBeHalf: false }
  return { prompt: prompt as string, schema: parsed.form }
}
