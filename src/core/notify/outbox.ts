/**
 * The outbox: one file for each instance that may have something to send, with a cursor into its journal for each target. What must
 * be sent follows from the journal and the cursor; the file exists before the host of the instance writes an event, and moves on
 * only after a target took a notice or it was given up. So each notice is sent at least once, whatever is killed when.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { systemCode } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import { createExclusiveSync, writeWholeSync } from '../files/write-whole.ts'
import { isObject } from '../primitives/is-object.ts'
import { isInstanceId } from '../store/home.ts'

/** How far one target is with one instance. */
export interface Cursor {
  /** The number of the last event that needs nothing more. */
  after: number
  /** Failed tries of the notice that is next. */
  tries: number
  /** Milliseconds since 1970: not before. */
  next_at: number
  /** ISO-8601 UTC; null where the last try succeeded. */
  failing_since: string | null
  last_error: string | null
  given_up: number
  /** A first try is under way, or was when its process ended. */
  sending?: true
}

/** By the id of the target. */
export type Cursors = Record<string, Cursor>

export const FIRST: Cursor = { after: 0, tries: 0, next_at: 0, failing_since: null, last_error: null, given_up: 0 }

export function outboxDirectory(home: string): string {
  return join(home, 'outbox')
}

export function outboxPath(home: string, id: string): string {
  return join(outboxDirectory(home), `${id}.json`)
}

/** A file that is there stays as it is. Throws the system's error. */
export function openOutbox(home: string, id: string, cursors: Cursors = {}): void {
  mkdirSync(outboxDirectory(home), { recursive: true, mode: 0o700 })
  if (createExclusiveSync(outboxPath(home, id), JSON.stringify(cursors), { mode: 0o600 })) failpoint('outbox.opened')
}

/** The instances with a file. */
export function instancesInOutbox(home: string): string[] {
  try {
    return readdirSync(outboxDirectory(home))
      .filter((name) => name.endsWith('.json'))
      .map((name) => name.slice(0, -'.json'.length))
      .filter(isInstanceId)
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return []
    throw error
  }
}

/** Undefined where there is no file. A damaged one counts as new: a notice is then sent again, never lost. */
export function readCursors(home: string, id: string): Cursors | undefined {
  let text: string
  try {
    text = readFileSync(outboxPath(home, id), 'utf8')
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined
    throw error
  }
  try {
    const value: unknown = JSON.parse(text)
    const entries = isObject(value) ? Object.entries(value).filter(([, one]) => isCursor(one)) : []
    return Object.fromEntries(entries) as Cursors
  } catch {
    return {}
  }
}

/** Durable: a notice that was taken is not sent again after a power failure either. Throws the system's error. */
export function writeCursors(home: string, id: string, cursors: Cursors): void {
  writeWholeSync(outboxPath(home, id), JSON.stringify(cursors), { mode: 0o600, durable: true })
  failpoint('outbox.kept')
}

/** For lists only, so it is neither durable nor needed: a full disk must not keep a notice back. */
export function markSending(home: string, id: string, cursors: Cursors): void {
  try {
    writeWholeSync(outboxPath(home, id), JSON.stringify(cursors), { mode: 0o600 })
  } catch {
    // The notice is sent all the same.
  }
}

export function removeOutbox(home: string, id: string): void {
  rmSync(outboxPath(home, id), { force: true })
  failpoint('outbox.removed')
}

function isCursor(value: unknown): boolean {
  return isObject(value) && Number.isSafeInteger(value['after']) && typeof value['next_at'] === 'number'
}
