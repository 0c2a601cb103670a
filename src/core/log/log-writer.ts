/**
 * Appends to the log of an instance; only its host does. A log is worth less than a run: what cannot be written is counted and
 * left out, and nothing here throws.
 */
import * as fs from 'node:fs'
import { failpoint } from '../failpoints.ts'
import { LOG_FILE_BYTES, LOG_LINE_OVERHEAD_BYTES } from '../limits.ts'
import type { LogLine } from '../protocol/log.ts'
import { formatLogLine, type KeptLogLine, type LogCursor, olderLog, openLog, parseLogLine, readAt } from './log-file.ts'

/** A line before it has a number. */
export type NewLogLine = Omit<LogLine, 'n'> & { cursor: LogCursor }

const LF = 0x0a
/** Longer than any line. */
const TAIL_BYTES = 1024 * 1024
/** Lines of about this size together are written at once. JSON makes a text up to six times as long, so it is far below the limit of the file. */
const SLICE_CHARS = 256 * 1024

export class LogWriter {
  readonly #path: string
  #n: number
  #cursor: LogCursor
  /** The file as this writer left it; undefined before the first line. */
  #file: { ino: number; size: number } | undefined
  #unwritten = 0
  #isOver = false

  /** Continues after the last whole line. */
  constructor(path: string) {
    this.#path = path
    const last = lastLine(path) ?? lastLine(olderLog(path))
    this.#n = last?.n ?? 0
    this.#cursor = last?.cursor ?? { incarnation: 0, stdout: 0, stderr: 0 }
  }

  /** Up to where earlier hosts have logged. */
  get cursor(): LogCursor {
    return this.#cursor
  }

  append(lines: readonly NewLogLine[]): void {
    for (let from = 0, to = 0; from < lines.length && !this.#isOver; from = to) {
      for (let chars = 0; to < lines.length && chars < SLICE_CHARS; to += 1) {
        chars += LOG_LINE_OVERHEAD_BYTES + (lines[to] as NewLogLine).text.length
      }
      this.#appendSlice(lines.slice(from, to))
    }
  }

  #appendSlice(lines: readonly NewLogLine[]): void {
    const last = lines.at(-1)
    if (last === undefined) return
    const { at, cursor } = lines[0] as NewLogLine
    const all = this.#unwritten === 0 ? lines : [lostNote(this.#unwritten, at, cursor), ...lines]
    const kept = all.map((line, index): KeptLogLine => ({ ...line, n: this.#n + 1 + index }))
    try {
      if (!this.#write(Buffer.from(kept.map(formatLogLine).join('')))) return
    } catch {
      this.#file = undefined
      this.#unwritten += lines.length
      return
    }
    this.#unwritten = 0
    this.#n += kept.length
    this.#cursor = last.cursor
  }

  /** False where another host owns the log now. */
  #write(bytes: Buffer): boolean {
    this.#file ??= prepare(this.#path)
    const now = fs.statSync(this.#path, { throwIfNoEntry: false })
    if (now === undefined || now.ino !== this.#file.ino || now.size !== this.#file.size) {
      // This host was taken for dead, and the next one writes.
      this.#isOver = true
      return false
    }
    if (now.size > 0 && now.size + bytes.length > LOG_FILE_BYTES) {
      fs.renameSync(this.#path, olderLog(this.#path))
      this.#file = prepare(this.#path)
    }
    const fd = fs.openSync(this.#path, fs.constants.O_WRONLY | fs.constants.O_APPEND | fs.constants.O_NOFOLLOW)
    try {
      failpoint('log.writing')
      this.#file.size += writeAll(fd, bytes)
      failpoint('log.written')
    } catch (error) {
      // What a short write has left is found and cut off before the next line.
      fs.ftruncateSync(fd, now.ino === this.#file.ino ? now.size : 0)
      throw error
    } finally {
      fs.closeSync(fd)
    }
    return true
  }
}

/** Throws the system's error where not all of it fits on the disk. */
function writeAll(fd: number, bytes: Buffer): number {
  for (let done = 0; done < bytes.length; ) done += fs.writeSync(fd, bytes, done)
  return bytes.length
}

/** Creates the file where it is missing, and cuts off a last line without an end: its writer was killed. */
function prepare(path: string): { ino: number; size: number } {
  const flags = fs.constants.O_RDWR | fs.constants.O_CREAT | fs.constants.O_NOFOLLOW
  const fd = fs.openSync(path, flags, 0o600)
  try {
    const { ino, size } = fs.fstatSync(fd)
    const tail = readAt(fd, Math.max(0, size - TAIL_BYTES), Math.min(size, TAIL_BYTES))
    const whole = size - tail.length + tail.lastIndexOf(LF) + 1
    if (whole < size) fs.ftruncateSync(fd, whole)
    return { ino, size: whole }
  } finally {
    fs.closeSync(fd)
  }
}

function lastLine(path: string): KeptLogLine | undefined {
  const opened = openLog(path)
  if (opened === undefined) return undefined
  try {
    const { size } = opened.stat
    const lines = readAt(opened.fd, Math.max(0, size - TAIL_BYTES), Math.min(size, TAIL_BYTES))
      .toString('utf8')
      .split('\n')
    // The last piece is no whole line.
    for (const line of lines.slice(0, -1).reverse()) {
      const parsed = parseLogLine(line)
      if (parsed !== undefined) return parsed
    }
    return undefined
  } catch {
    return undefined
  } finally {
    fs.closeSync(opened.fd)
  }
}

function lostNote(lines: number, at: string, cursor: LogCursor): NewLogLine {
  return { at, source: 'platform', level: null, text: `${lines} lines could not be written to the log`, cursor }
}
