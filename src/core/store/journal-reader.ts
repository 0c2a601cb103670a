/** Reads an instance's journal from any sequence number on, once or while it grows. Any process may call it. */
import * as fs from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fail, systemCode } from '../errors.ts'
import { JOURNAL_LINE_MAX_BYTES } from '../limits.ts'
import type { EventEnvelope } from '../protocol/event.ts'
import type { CreationRecord } from '../protocol/journal.ts'
import {
  isPrivate,
  type JournalLine,
  type Place,
  PRIVATE_MARK,
  type PrivateText,
  parseEnvelope,
  parseLine,
  parsePrivateLine,
  privatePrefixOf,
} from './journal-line.ts'

const CHUNK_BYTES = 256 * 1024
const PROBE_BYTES = 4 * 1024
const LF = 0x0a

/** The kind of a private line that cannot be read. */
export const DAMAGED = ''

/** A private line, and the position of its JSON. */
export type PlacedPrivate = PrivateText & { place: Place }

/** A cursor into a journal: each call returns the whole lines added since the previous one. */
export class JournalReader {
  readonly #path: string
  readonly #fd: number
  /** Always at the start of a line: the next owner may cut off a torn line and write another one. */
  #offset: number

  /** Positions the cursor before the first line whose number is greater than `after`, or at a known offset. */
  constructor(path: string, after = 0, offset?: number) {
    this.#path = path
    this.#fd = openJournal(path)
    this.#offset = offset ?? seekAfter(this.#fd, after)
  }

  /** Up to where it has read. */
  get offset(): number {
    return this.#offset
  }

  /** The inode of the file that it reads. */
  get ino(): number {
    return fs.fstatSync(this.#fd).ino
  }

  /** The next numbered lines, up to one chunk; empty at the current end. Throws `journal_broken`. */
  read(): JournalLine[] {
    for (;;) {
      const bytes = this.#readChunk()
      if (bytes === undefined) return []
      const lines = linesIn(this.#path, bytes)
      // A chunk with only private lines is not the end.
      if (lines.length > 0) return lines
    }
  }

  /** As {@link read}, including the private lines at their positions; one that cannot be read has the kind {@link DAMAGED}. */
  readAll(): (JournalLine | PlacedPrivate)[] {
    const start = this.#offset
    const bytes = this.#readChunk()
    if (bytes === undefined) return []
    if (!hasPrivate(bytes)) return textsOf(bytes).map((text) => numbered(this.#path, text))
    // Counted in bytes: a damaged byte in one line must not move the places of the lines after it.
    const lines: (JournalLine | PlacedPrivate)[] = []
    for (let at = 0; at < bytes.length; ) {
      const end = bytes.indexOf(LF, at)
      const text = bytes.toString('utf8', at, end)
      const line = isPrivate(text) ? this.#parsePrivate(text, start + at, end - at) : numbered(this.#path, text)
      lines.push(line)
      at = end + 1
    }
    return lines
  }

  close(): void {
    fs.closeSync(this.#fd)
  }

  #readChunk(): Buffer | undefined {
    const bytes = readWholeLines(this.#fd, this.#offset, CHUNK_BYTES, this.#path)
    if (bytes !== undefined) this.#offset += bytes.length
    return bytes
  }

  #parsePrivate(text: string, offset: number, bytes: number): PlacedPrivate {
    const line = parsePrivateLine(text)
    if (line === undefined) return { kind: DAMAGED, text, place: { path: this.#path, offset, bytes } }
    const prefix = privatePrefixOf(line.kind).length
    return { ...line, place: { path: this.#path, offset: offset + prefix, bytes: bytes - prefix } }
  }
}

/** Between the name of a journal and the time at which it was found damaged and kept. */
export const FROZEN_MARK = '.frozen-'

/** Where the trusted part of a damaged journal is copied to. */
export function freshNameOf(path: string): string {
  return `${path}.new`
}

/** The damaged journals that were kept beside this one. Throws the file system's error. */
export function frozenOf(path: string): string[] {
  const directory = dirname(path)
  const start = `${basename(path)}${FROZEN_MARK}`
  return fs
    .readdirSync(directory)
    .filter((name) => name.startsWith(start))
    .map((name) => join(directory, name))
}

/**
 * Opens a journal for reading; where a host of an earlier version was killed while it replaced a damaged one, the replacement is completed
 * first. Throws the file system's error.
 */
export function openJournal(path: string, flags: string | number = 'r'): number {
  try {
    return fs.openSync(path, flags)
  } catch (error) {
    if (systemCode(error) !== 'ENOENT' || !completeFreeze(path)) throw error
    return fs.openSync(path, flags)
  }
}

/** The earlier version moved the damaged file aside only when the copy was on disk, so the copy is whole. False where there is nothing to complete. */
function completeFreeze(path: string): boolean {
  const fresh = freshNameOf(path)
  try {
    if (frozenOf(path).length === 0 || !fs.lstatSync(fresh).isFile()) return false
    // A link never replaces a journal that another process completed meanwhile, and may have continued.
    fs.linkSync(fresh, path)
    fs.rmSync(fresh, { force: true })
    return true
  } catch {
    return fs.existsSync(path)
  }
}

/** The numbered lines in these whole lines. Throws `journal_broken`. */
export function linesIn(path: string, bytes: Buffer): JournalLine[] {
  const texts = textsOf(bytes)
  const found = hasPrivate(bytes) ? texts.filter((text) => !isPrivate(text)) : texts
  return found.map((text) => numbered(path, text))
}

function numbered(path: string, text: string): JournalLine {
  const line = parseLine(text)
  if (line === undefined) throw fail('journal_broken', { path, reason: 'a line has no number' })
  return line
}

function textsOf(bytes: Buffer): string[] {
  return bytes.toString('utf8', 0, bytes.length - 1).split('\n')
}

const PRIVATE_START = Buffer.from(`\n${PRIVATE_MARK}`)

function hasPrivate(bytes: Buffer): boolean {
  return bytes[0] === PRIVATE_START[1] || bytes.includes(PRIVATE_START)
}

/** The JSON at a position. Throws the file system's error, and `journal_broken` where it is cut short or is no JSON. */
export function readPlace({ path, offset, bytes }: Place): unknown {
  const buffer = Buffer.allocUnsafe(bytes)
  const fd = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK)
  try {
    const read = fs.readSync(fd, buffer, 0, bytes, offset)
    if (read < bytes) throw fail('journal_broken', { path, reason: 'it was cut short' })
  } finally {
    fs.closeSync(fd)
  }
  try {
    return JSON.parse(buffer.toString('utf8'))
  } catch (cause) {
    throw fail('journal_broken', { path, reason: 'a private line is not JSON' }, { cause })
  }
}

/**
 * The whole lines from `offset` on with their LFs, about `size` bytes; a longer line is returned whole. Undefined at the
 * current end: a line without its LF may still be cut off by the next owner. Throws `journal_broken` where a line is longer than any
 * that a host writes.
 */
export function readWholeLines(fd: number, offset: number, size: number, path: string): Buffer | undefined {
  // The buffer is no larger than the data: a follower reads one line at a time, and large buffers for small lines would only
  // make work for the garbage collector.
  const there = fs.fstatSync(fd).size - offset
  for (let wanted = size; there > 0; wanted *= 4) {
    const buffer = Buffer.allocUnsafe(Math.min(wanted, there))
    const read = fs.readSync(fd, buffer, 0, buffer.length, offset)
    const last = buffer.subarray(0, read).lastIndexOf(0x0a)
    if (last !== -1) return buffer.subarray(0, last + 1)
    if (read < wanted) return undefined
    if (wanted >= JOURNAL_LINE_MAX_BYTES) throw fail('journal_broken', { path, reason: 'a line does not end' })
  }
  return undefined
}

/** The offset just after line `seq`; undefined where there is no such line (R15). */
export function offsetAfter(fd: number, seq: number): number | undefined {
  const start = seekAfter(fd, seq - 1)
  const line = lineStartingFrom(fd, start, start)
  return line?.seq === seq ? line.next : undefined
}

/** The event of a line. Throws `journal_broken` where it is not an event. */
export function readEnvelope(path: string, line: JournalLine): EventEnvelope {
  const event = parseEnvelope(line.text)
  if (event === undefined) throw fail('journal_broken', { path, reason: `line ${line.seq} holds no event` })
  return event
}

/** Line 0. Throws `journal_broken`. */
export function readCreationRecord(path: string): CreationRecord {
  let text: string
  try {
    const fd = openJournal(path)
    try {
      text = firstLine(fd)
    } finally {
      fs.closeSync(fd)
    }
  } catch (cause) {
    throw fail('journal_broken', { path, reason: cause instanceof Error ? cause.message : String(cause) }, { cause })
  }
  const line = parseLine(text)
  if (line?.seq !== 0) throw fail('journal_broken', { path, reason: 'its first line is not a creation record' })
  try {
    return JSON.parse(line.text) as CreationRecord
  } catch (cause) {
    throw fail('journal_broken', { path, reason: 'its creation record is not JSON' }, { cause })
  }
}

function firstLine(fd: number): string {
  const parts: Buffer[] = []
  for (let offset = 0; ; ) {
    const buffer = Buffer.alloc(PROBE_BYTES * 4)
    const read = fs.readSync(fd, buffer, 0, buffer.length, offset)
    const piece = buffer.subarray(0, read)
    const end = piece.indexOf(0x0a)
    parts.push(end === -1 ? piece : piece.subarray(0, end))
    if (end !== -1 || read === 0) return Buffer.concat(parts).toString('utf8')
    offset += read
  }
}

/**
 * An offset before the first numbered line greater than `after`, found by binary search over bytes. Private lines may be
 * between that offset and the line.
 */
export function seekAfter(fd: number, after: number): number {
  let low = 0
  let high = fs.fstatSync(fd).size
  // Invariant: every number on a line that starts before `low` is ≤ after; every number on one at or after `high` is greater.
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const line = lineStartingFrom(fd, middle, low)
    if (line === undefined || line.start >= high) high = middle
    else if (line.seq <= after) low = line.next
    else high = middle === low ? low : middle
    if (line !== undefined && line.seq > after && line.start === low) return low
  }
  return low
}

/** The first numbered line that starts at or after `from`; `lineStart` is a known start of a line. */
function lineStartingFrom(
  fd: number,
  from: number,
  lineStart: number,
): { start: number; next: number; seq: number } | undefined {
  const head = Buffer.alloc(32)
  let start = from === lineStart ? from : nextStart(fd, from - 1)
  while (start !== undefined) {
    const next = nextStart(fd, start)
    if (next === undefined) return undefined
    const read = fs.readSync(fd, head, 0, head.length, start)
    const text = head.subarray(0, read).toString('latin1')
    if (!isPrivate(text)) {
      const seq = Number.parseInt(text, 10)
      return Number.isNaN(seq) ? undefined : { start, next, seq }
    }
    start = next
  }
  return undefined
}

/** The offset just after the first LF at or after `from`. */
function nextStart(fd: number, from: number): number | undefined {
  const buffer = Buffer.alloc(PROBE_BYTES)
  for (let offset = from; ; ) {
    const read = fs.readSync(fd, buffer, 0, buffer.length, offset)
    if (read === 0) return undefined
    const at = buffer.subarray(0, read).indexOf(0x0a)
    if (at !== -1) return offset + at + 1
    offset += read
  }
}
