/**
 * `<home>/index`: where each instance stood when it was last read, so that a new process need not read them all again. A cache
 * for {@link file://./instance-index.ts} alone: it is believed only as a whole, and of each instance only as long as its files are the same.
 */
import { hash } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { writeWholeSync } from '../files/write-whole.ts'
import { INDEX_MAX_BYTES, INSTANCE_ID_CHARS } from '../limits.ts'
import { isStatus, STATUSES, type Status } from '../protocol/status.ts'
import { isInstanceId } from './home.ts'

/** What the place of an instance in a list depends on. */
export interface Place {
  id: string
  /** Sorts by creation, and by id within the same millisecond; also a page's cursor. It never changes. */
  order: string
  status: Status
  resolver: string
  /** Of the files it was read from; {@link UNSETTLED} where they changed just then. */
  print: string
}

/** Equals the print of no files. */
export const UNSETTLED = '-'

const SCHEMA = 'resolve.index/1'

/** Nothing where there is none, or where one byte of it is not as it was written. */
export function readIndex(home: string): Place[] {
  const text = readText(pathIn(home))
  if (text === undefined) return []
  const end = text.indexOf('\n')
  const body = text.slice(end + 1)
  if (text.slice(0, end) !== headOf(body)) return []
  const places: Place[] = []
  // The same few words ten thousand times: held once.
  const words = new Map<string, string>(STATUSES.map((status) => [status, status]))
  for (const line of body.split('\n')) {
    const id = line.slice(ORDER_CHARS - INSTANCE_ID_CHARS, ORDER_CHARS)
    const [status, resolver, print] = line.slice(ORDER_CHARS + 1).split('\t')
    if (!isInstanceId(id) || !isStatus(status) || resolver === undefined || print === undefined) continue
    const word = words.get(resolver) ?? resolver
    words.set(word, word)
    places.push({ id, order: line.slice(0, ORDER_CHARS), status: words.get(status) as Status, resolver: word, print })
  }
  return places
}

/** Written whole, by whoever read much that was not in it: of two at once one wins. A home without room goes on without it. */
export function writeIndex(home: string, places: readonly Place[]): void {
  const lines: string[] = []
  for (const { id, order, status, resolver, print } of places) {
    // What a damaged record says is not kept: it is read again each time.
    if (!isInstanceId(id) || !order.endsWith(`|${id}`) || order.length !== ORDER_CHARS) continue
    if (PLAIN.test(resolver)) lines.push(`${order}\t${status}\t${resolver}\t${print}`)
  }
  // Newest first, as it is asked for.
  const body = lines.sort().reverse().join('\n')
  try {
    writeWholeSync(pathIn(home), `${headOf(body)}\n${body}`)
  } catch {
    // A cache: whoever lacks it reads the records.
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
    // Whatever lies there instead keeps nobody waiting.
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
