/** Appends to an instance's journal. Only the owner of the instance opens one (docs/decisions/0001-foundation.md). */
import * as fs from 'node:fs'
import { dirname } from 'node:path'
import { fail, systemCode } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import { JOURNAL_LINE_MAX_BYTES, JOURNAL_SYNC_MS } from '../limits.ts'
import { atOnce } from '../primitives/in-turns.ts'
import type { PrivateLine } from '../protocol/journal.ts'
import {
  formatPrivateLine,
  isPrivate,
  type JournalEnd,
  type JournalLine,
  type Place,
  type PrivateText,
  parseEnvelope,
  parseLine,
  parsePrivateLine,
  prefixOf,
  privatePrefixOf,
} from './journal-line.ts'
import { FROZEN_MARK, freshNameOf, frozenOf } from './journal-reader.ts'

/** One line to append: the envelope as streamed, and its end offset in the worker's events file. */
export interface Entry {
  text: string
  sourceEnd: number | null
}

const LF = 0x0a
const TAIL_BYTES = 4 * 1024 * 1024
const FREEZE_CHUNK_BYTES = 1024 * 1024

export class JournalWriter {
  readonly path: string
  readonly #fd: number
  #size: number
  #seq: number
  #sourceEnd: number
  #syncTimer: NodeJS.Timeout | undefined
  #isSyncing = false
  /** The error of a background sync, until the next call of {@link sync} throws it. */
  #trouble: Error | undefined
  #isClosed = false

  private constructor(path: string, fd: number, size: number, end: { seq: number; sourceEnd: number }) {
    this.path = path
    this.#fd = fd
    this.#size = size
    this.#seq = end.seq
    this.#sourceEnd = end.sourceEnd
  }

  /**
   * Opens a journal for appending. A torn last line is cut off: it was never acknowledged or shown. A whole line that cannot be
   * parsed ends the trusted part: the file is then kept beside as frozen, and a new one begins with its trusted part (on-disk,
   * The journal).
   */
  static open(path: string): JournalWriter {
    return JournalWriter.#openSound(path) ?? JournalWriter.open(atOnce(freeze(path)))
  }

  /** Opens a journal whose end was read before. Undefined where it is another one now. */
  static openAt(path: string, end: JournalEnd): JournalWriter | undefined {
    const fd = fs.openSync(path, 'r+')
    const size = cutTornLine(fd)
    if (size === end.offset) return new JournalWriter(path, fd, size, end)
    fs.closeSync(fd)
    return undefined
  }

  /** Undefined where its end is damaged. */
  static #openSound(path: string): JournalWriter | undefined {
    const fd = fs.openSync(path, 'r+')
    const size = cutTornLine(fd)
    const end = readEnd(fd, size)
    if (end !== undefined) return new JournalWriter(path, fd, size, end)
    fs.closeSync(fd)
    return undefined
  }

  /** The sequence number of the last line. */
  get seq(): number {
    return this.#seq
  }

  /** The offset up to which the worker's events file is journaled. */
  get sourceEnd(): number {
    return this.#sourceEnd
  }

  /** Formats the entries as the next lines of the journal. */
  format(entries: readonly Entry[]): Buffer {
    let seq = this.#seq
    let lines = ''
    for (const { text, sourceEnd } of entries) {
      seq += 1
      lines += `${prefixOf(seq, sourceEnd)}${text}\n`
    }
    return Buffer.from(lines)
  }

  /**
   * Appends all entries in one write, or none: after a failed or short write the file is cut back. Throws `disk_full`,
   * `ownership_lost`. Returns the number of the first entry. `bytes`: the result of {@link format}, if the caller already has
   * it.
   */
  append(entries: readonly Entry[], bytes = this.format(entries)): number {
    const first = this.#seq + 1
    this.#write(bytes)
    this.#seq += entries.length
    for (const entry of entries) if (entry.sourceEnd !== null) this.#sourceEnd = entry.sourceEnd
    this.#syncSoon()
    return first
  }

  /** Appends a private line, followed by these entries, as {@link append} does. Returns the position of the private line's JSON. */
  appendPrivate(line: PrivateLine, entries: readonly Entry[] = []): { first: number; place: Place } {
    const bytes = Buffer.from(formatPrivateLine(line))
    const prefix = privatePrefixOf(line.kind).length
    const place = { path: this.path, offset: this.#size + prefix, bytes: bytes.length - prefix - 1 }
    const first = this.append(entries, entries.length === 0 ? bytes : Buffer.concat([bytes, this.format(entries)]))
    return { first, place }
  }

  /** Syncs everything appended so far to disk; called before an acknowledgement is sent (R12). */
  sync(): void {
    clearTimeout(this.#syncTimer)
    this.#syncTimer = undefined
    const trouble = this.#trouble
    this.#trouble = undefined
    // The system reports a failed sync only once: a later sync must not acknowledge lines that the failed one may have lost.
    if (trouble !== undefined) throw trouble
    fs.fdatasyncSync(this.#fd)
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    try {
      if (this.#syncTimer !== undefined || this.#isSyncing) this.sync()
    } finally {
      if (!this.#isSyncing) fs.closeSync(this.#fd)
    }
  }

  #syncSoon(): void {
    if (!this.#isSyncing) this.#syncTimer ??= setTimeout(() => this.#syncBehind(), JOURNAL_SYNC_MS).unref()
  }

  /** No caller waits for this sync. It runs in the background, because a sync takes longer than the time between events. */
  #syncBehind(): void {
    this.#syncTimer = undefined
    this.#isSyncing = true
    const size = this.#size
    fs.fdatasync(this.#fd, (error) => {
      this.#isSyncing = false
      if (this.#isClosed) {
        fs.closeSync(this.#fd)
        return
      }
      // A failed background sync does not end the host; the next acknowledgement fails with it.
      this.#trouble = error ?? this.#trouble
      if (error !== null || this.#size !== size) this.#syncSoon()
    })
  }

  #write(bytes: Buffer): void {
    // A released host no longer writes. Where another host has written, that host owns the instance, and its lines must not be
    // overwritten.
    if (this.#isClosed || fs.fstatSync(this.#fd).size !== this.#size) throw fail('ownership_lost', { path: this.path })
    let written = 0
    try {
      failpoint('journal.writing')
      while (written < bytes.length) {
        written += fs.writeSync(this.#fd, bytes, written, bytes.length - written, this.#size + written)
      }
      failpoint('journal.written')
    } catch (error) {
      fs.ftruncateSync(this.#fd, this.#size)
      const code = systemCode(error)
      if (code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG') {
        throw fail('disk_full', { path: 'the journal' }, { cause: error })
      }
      throw error
    }
    this.#size += bytes.length
  }
}

function cutTornLine(fd: number): number {
  const { size } = fs.fstatSync(fd)
  let end = size
  const buffer = Buffer.alloc(64 * 1024)
  while (end > 0) {
    const start = Math.max(0, end - buffer.length)
    const read = fs.readSync(fd, buffer, 0, end - start, start)
    const last = buffer.subarray(0, read).lastIndexOf(LF)
    if (last !== -1) {
      const whole = start + last + 1
      if (whole < size) fs.ftruncateSync(fd, whole)
      return whole
    }
    end = start
  }
  return size
}

/** The last sequence number and source offset, read from the end of the file; undefined where the end is not valid. */
function readEnd(fd: number, size: number): { seq: number; sourceEnd: number } | undefined {
  let lines: (JournalLine | PrivateText | undefined)[] = []
  for (let window = Math.min(TAIL_BYTES, size); ; window = Math.min(window * 4, size)) {
    const buffer = Buffer.alloc(window)
    fs.readSync(fd, buffer, 0, window, size - window)
    const texts = buffer.toString('utf8').split('\n')
    texts.pop()
    if (window < size) texts.shift()
    lines = texts.map((text) => (isPrivate(text) ? parsePrivateLine(text) : parseLine(text)))
    if (window === size || lines.some((line) => line !== undefined && 'seq' in line && line.sourceEnd !== null)) break
  }
  if (lines.includes(undefined)) return undefined
  const numbered = lines.filter((line): line is JournalLine => line !== undefined && 'seq' in line)
  const last = numbered.at(-1)
  if (last === undefined || !areGapless(numbered)) return undefined
  return { seq: last.seq, sourceEnd: numbered.findLast((line) => line.sourceEnd !== null)?.sourceEnd ?? 0 }
}

function areGapless(lines: readonly JournalLine[]): boolean {
  return lines.every((line, index) => {
    const before = lines[index - 1]
    return before === undefined || line.seq === before.seq + 1
  })
}

/**
 * Keeps a damaged journal under another name and starts a new one with its trusted part; pauses after each part. A damaged private line is left out, and
 * what comes after it stays trusted. A damaged numbered line ends the trusted part: of what comes after it only whole private lines are
 * copied, so that accepted requests stay accepted. Returns the path to open.
 */
export function* freeze(path: string): Generator<void, string> {
  const fresh = freshNameOf(path)
  // Never truncated in place: the name may still belong to a file that is the journal by now.
  fs.rmSync(fresh, { force: true })
  const [from, to] = [fs.openSync(path, 'r'), fs.openSync(fresh, 'wx', 0o600)]
  let count = 0
  try {
    let isTrusted = true
    for (const lines of linesOf(from)) {
      let kept = ''
      for (const line of lines) {
        const isOfTrusted = isTrusted && isNext(line, count)
        if (isOfTrusted) count += 1
        else isTrusted &&= isPrivate(line)
        if (isOfTrusted || isSoundPrivate(line)) kept += `${line}\n`
      }
      fs.writeSync(to, kept)
      yield
    }
    if (count === 0) throw fail('journal_broken', { path, reason: 'its first line cannot be read' })
    fs.fsyncSync(to)
  } finally {
    fs.closeSync(from)
    fs.closeSync(to)
  }
  // The journal is under its name at every moment: a host that is killed here leaves an instance that every reader finds.
  if (!isKeptFrozen(path)) fs.linkSync(path, frozenNameOf(path))
  failpoint('journal.frozen')
  fs.renameSync(fresh, path)
  syncDirectory(dirname(path))
  return path
}

function frozenNameOf(path: string): string {
  return `${path}${FROZEN_MARK}${Date.now()}`
}

/** Whether a host that was killed while it froze this file has kept it already. */
function isKeptFrozen(path: string): boolean {
  const { ino } = fs.statSync(path)
  return frozenOf(path).some((kept) => fs.lstatSync(kept).ino === ino)
}

function syncDirectory(path: string): void {
  const fd = fs.openSync(path, 'r')
  try {
    fs.fsyncSync(fd)
  } finally {
    fs.closeSync(fd)
  }
}

/** The lines of a file in parts; of a line that is longer than any that a host writes only pieces, which are no lines of a journal. */
function* linesOf(fd: number): Generator<string[]> {
  let rest = Buffer.alloc(0)
  for (let offset = 0; ; ) {
    const buffer = Buffer.allocUnsafe(FREEZE_CHUNK_BYTES)
    const read = fs.readSync(fd, buffer, 0, buffer.length, offset)
    offset += read
    const bytes = Buffer.concat([rest, buffer.subarray(0, read)])
    const isOver = read === 0 || bytes.length > JOURNAL_LINE_MAX_BYTES
    const last = bytes.lastIndexOf(LF)
    const end = last === -1 ? (isOver ? bytes.length : 0) : last + 1
    if (end > 0) yield bytes.toString('utf8', 0, last === -1 ? end : last).split('\n')
    if (read === 0) return
    rest = bytes.subarray(end)
  }
}

function isNext(line: string, seq: number): boolean {
  const parsed = parseLine(line)
  return parsed?.seq === seq && (seq === 0 || parseEnvelope(parsed.text) !== undefined)
}

function isSoundPrivate(line: string): boolean {
  const parsed = isPrivate(line) ? parsePrivateLine(line) : undefined
  if (parsed === undefined) return false
  try {
    JSON.parse(parsed.text)
    return true
  } catch {
    return false
  }
}
