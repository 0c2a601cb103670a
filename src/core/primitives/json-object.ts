/** The JSON object in a text from outside; empty for any other text. */
import { isObject } from './is-object.ts'

export function jsonObjectIn(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}
