/**
 * `<home>/index`: the last known state of each instance, so that a new process need not read them all again. A cache, used only
 * by {@link file://./instance-index.ts}. It is valid only as a whole, and the entry of an instance only while the instance's
 * files are unchanged.
 */
import { hash } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { writeWholeSync } from '../files/write-whole.ts'
import { INDEX_MAX_BYTES, INSTANCE_ID_CHARS } from '../limits.ts'
import { isStatus, STATUSES, type Status } from '../protocol/status.ts'
import { isInstanceId } from './home.ts'

/** What the position of an instance in a list depends on. */
export interface IndexEntry {
  id: string
  /** Sort key: creation time, then id. Also the cursor of a page. It never changes. */
  order: string
  status: Status
  resolver: string
  /** The fingerprint of the files it was read from; {@link UNSETTLED} where they had changed a moment before. */
  fingerprint: string
  /** Its name, labels and the beginning of its input, as ASCII JSON; empty where it has none of them. */
  words: string
}

/** Never equals the fingerprint of any files. */
export const UNSETTLED = '-'

const SCHEMA = 'resolve.index/2'

/** Undefined where the file is missing, or differs in any byte from what was written. */
export function readIndex(home: string): IndexEntry[] {
  const text = readText(pathIn(home))
  if (text === undefined) return []
  const end = text.indexOf('\n')
  const body = text.slice(end + 1)
  if (text.slice(0, end) !== headOf(body)) return []
  const entries: IndexEntry[] = []
  // Ten thousand entries repeat the same few words: each is stored once.
  const words = new Map<string, string>(STATUSES.map((status) => [status, status]))
  for (const line of body.split('\n')) {
    const id = line.slice(ORDER_CHARS - INSTANCE_ID_CHARS, ORDER_CHARS)
    const [status, resolver, fingerprint, found = ''] = line.slice(ORDER_CHARS + 1).split('\t')
    if (!isInstanceId(id) || !isStatus(status) || resolver === undefined || fingerprint === undefined) continue
    const word = words.get(resolver) ?? resolver
    words.set(word, word)
    entries.push({
      id,
      order: line.slice(0, ORDER_CHARS),
      status: words.get(status) as Status,
      resolver: word,
      fingerprint,
      words: found,
    })
  }
  return entries
}

/**
 * Replaces the file as a whole; a process calls it after reading many instances that were not in it. Of two concurrent writers
 * one wins. Without free space there is no index.
 */
export function writeIndex(home: string, entries: readonly IndexEntry[]): void {
  const lines: string[] = []
  for (const { id, order, status, resolver, fingerprint, words } of entries) {
    // The record is damaged: it is not indexed, and read again each time.
    if (!isInstanceId(id) || !order.endsWith(`|${id}`) || order.length !== ORDER_CHARS) continue
    if (PLAIN.test(resolver)) lines.push(`${order}\t${status}\t${resolver}\t${fingerprint}\t${words}`)
  }
  // Newest first, in the order in which lists need them.
  const body = lines.sort().reverse().join('\n')
  try {
    writeWholeSync(pathIn(home), `${headOf(body)}\n${body}`)
  } catch {
    // Only a cache: without it the records are read.
  }
}

/** `2026-01-01T00:00:00.000Z|0123456789ab` */
const ORDER_CHARS = 24 + 1 + INSTANCE_ID_CHARS
const PLAIN = /^[!-~]{1,64}$/

function headOf(body: string): string {
  return `${SCHEMA} ${hash('sha1', body)}`
}

function pathIn(home: string): string {
  return join(home, 'index')
}

function readText(path: string): string | undefined {
  try {
    // Opened non-blocking, because another kind of file may be in its entry.
    const fd = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK)
    try {
      const found = fs.fstatSync(fd)
      return found.isFile() && found.size <= INDEX_MAX_BYTES ? fs.readFileSync(fd, 'latin1') : undefined
    } finally {
      fs.closeSync(fd)
    }
  } catch {
    return undefined
  }
}
