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

/** What the position of an instance in a list depends on; the file holds all but `isFinal`. */
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
  /** It has ended, and this was read from the instance itself, not only from the index: it never changes again. */
  isFinal: boolean
}

/** Never equals the fingerprint of any files. */
export const UNSETTLED = '-'

const SCHEMA = 'resolve.index/2'

/** Empty where the file is missing, or differs in any byte from what was written. The caller knows which ids exist. */
export function readIndex(home: string): IndexEntry[] {
  const bytes = readBytes(pathIn(home))
  if (bytes === undefined) return []
  const head = bytes.indexOf('\n')
  if (bytes.toString('latin1', 0, head) !== headOf(bytes.subarray(head + 1))) return []
  const body = bytes.toString('latin1', head + 1)
  const entries: IndexEntry[] = []
  // Ten thousand entries repeat the same few words: each is stored once.
  const words = new Map<string, string>(STATUSES.map((status) => [status, status]))
  // Without an array for each line: a list of ten thousand would spend most of its time here.
  for (let at = 0; at < body.length; ) {
    const found = body.indexOf('\n', at)
    const end = found === -1 ? body.length : found
    const order = body.slice(at, at + ORDER_CHARS)
    const afterStatus = body.indexOf('\t', at + ORDER_CHARS + 1)
    const afterResolver = body.indexOf('\t', afterStatus + 1)
    const afterPrint = body.indexOf('\t', afterResolver + 1)
    const status = body.slice(at + ORDER_CHARS + 1, afterStatus)
    at = end + 1
    // Indexes of an earlier version have no words.
    const endOfPrint = afterPrint === -1 || afterPrint > end ? end : afterPrint
    if (afterStatus === -1 || afterResolver === -1 || afterResolver > end || !isStatus(status)) continue
    const resolver = body.slice(afterStatus + 1, afterResolver)
    const word = words.get(resolver) ?? resolver
    words.set(word, word)
    entries.push({
      id: order.slice(ORDER_CHARS - INSTANCE_ID_CHARS),
      order,
      status: words.get(status) as Status,
      resolver: word,
      fingerprint: body.slice(afterResolver + 1, endOfPrint),
      words: body.slice(endOfPrint + 1, end),
      isFinal: false,
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

function headOf(body: string | Buffer): string {
  return `${SCHEMA} ${hash('sha1', body)}`
}

function pathIn(home: string): string {
  return join(home, 'index')
}

function readBytes(path: string): Buffer | undefined {
  try {
    // Opened non-blocking, because another kind of file may be in its entry.
    const fd = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK)
    try {
      const found = fs.fstatSync(fd)
      return found.isFile() && found.size <= INDEX_MAX_BYTES ? fs.readFileSync(fd) : undefined
    } finally {
      fs.closeSync(fd)
    }
  } catch {
    return undefined
  }
}
