/** What was typed and not sent yet, kept in this tab: it survives a reload, a sign-in and a server that is away. */
import type { Payload } from '../../core/protocol/form.ts'

const PREFIX = 'resolve.draft.'
/** A draft is somebody's typing; more than this is not worth the storage. */
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
    // The storage is full or refused: the draft lives as long as the page.
  }
}

export function dropDraft(key: string): void {
  sessionStorage.removeItem(PREFIX + key)
}
