/** Stores typed values that were not sent yet in this tab. They survive a reload, a new sign-in and an unreachable server. */
import type { Payload } from '../../core/protocol/form.ts'

const PREFIX = 'resolve.draft.'
/** The maximum size of a stored draft. */
const MAX_CHARS = 500_000

export function readDraft(key: string): Payload | undefined {
  try {
    const value: unknown = JSON.parse(sessionStorage.getItem(PREFIX + key) ?? 'null')
    return typeof value === 'object' && value !== null ? (value as Payload) : undefined
  } catch {
    return undefined
  }
}

export function keepDraft(key: string, values: Payload): void {
  const text = JSON.stringify(values)
  if (text.length > MAX_CHARS) return
  try {
    sessionStorage.setItem(PREFIX + key, text)
  } catch {
    // The storage is full or not allowed: the draft is lost when the page closes.
  }
}

export function dropDraft(key: string): void {
  sessionStorage.removeItem(PREFIX + key)
}
