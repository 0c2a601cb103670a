/**
 * Writes what one worker prints and logs into the log of its instance, line by line, with the time of reading: noise on stdout,
 * resolver.log, stderr (R40, R41). Known secrets are redacted. The session of the worker calls it.
 */
import {
  LOG_BURST_BYTES,
  LOG_LAST_WORDS_BYTES,
  LOG_LAST_WORDS_LINES,
  LOG_LINE_MAX_BYTES,
  LOG_LINE_OVERHEAD_BYTES,
  LOG_LINES_A_TURN,
  LOG_RATE_BYTES,
  LOG_TEXT_MAX_CHARS,
} from '../../limits.ts'
import type { LogCursor } from '../../log/log-file.ts'
import { LogWriter, type NewLogLine } from '../../log/log-writer.ts'
import { LOG_LEVELS, type LogLevel, type LogSource } from '../../protocol/log.ts'
import type { Redactor } from '../../redaction/redact.ts'
import { LineSplitter } from '../../rpc/lines.ts'
import type { StderrListener } from '../../worker/worker.ts'

export interface WorkerLogParts {
  /** The path of the log. */
  path: string
  incarnation: number
  /** Up to here the worker gives the same output again after an adoption, from its beginning. */
  replayBytes: number
  /** The secrets may become known after this is made. */
  redactor: () => Redactor
}

const LF = 0x0a
/** Of a line that is kept from what is left out of a flood. */
const LAST_WORDS_MAX_CHARS = 2 * LOG_TEXT_MAX_CHARS

export class WorkerLog implements StderrListener {
  readonly #parts: WorkerLogParts
  readonly #writer: LogWriter
  readonly #splitter = new LineSplitter(LOG_LINE_MAX_BYTES)
  readonly #flood = new FloodGate()
  readonly #at: LogCursor
  /** What an earlier host has logged of this incarnation. */
  readonly #known: { stdout: number; stderr: number }
  /** The end of the last whole line of stderr. */
  #lineEnd: number
  #lines: NewLogLine[] = []
  #flushing: NodeJS.Immediate | undefined
  #later: NodeJS.Timeout | undefined

  constructor(parts: WorkerLogParts) {
    this.#parts = parts
    this.#writer = new LogWriter(parts.path)
    const { incarnation, replayBytes } = parts
    const { stdout, stderr, ...before } = this.#writer.cursor
    // Beyond, the engine has dropped the beginning, and offsets mean nothing: lines come twice rather than never.
    const isKnown = before.incarnation === incarnation && stdout + stderr < replayBytes
    this.#known = isKnown ? { stdout, stderr } : { stdout: 0, stderr: 0 }
    this.#at = { incarnation, ...this.#known }
    this.#lineEnd = this.#known.stderr
  }

  /** The offset from which stderr is not in the log yet; undefined at the beginning of an incarnation. */
  get stderrFrom(): number | undefined {
    return this.#known.stderr === 0 ? undefined : this.#known.stderr
  }

  /** A line on stdout that is no frame. `position`: the offset just after it. */
  noise(text: string, position = 0): void {
    this.#addFromStdout('stdout', null, text, position)
  }

  /** A resolver.log notification. */
  notice(level: string, message: string, position = 0): void {
    const known = LOG_LEVELS.find((one) => one === level)
    this.#addFromStdout('resolver', known ?? 'info', message, position)
  }

  /** stderr from the offset `start` on. */
  take(bytes: Buffer, start: number): void {
    if (this.#splitter.pendingBytes === 0) this.#lineEnd = start
    const { first, whole } = this.#splitter.take(bytes)
    if (first !== undefined) this.#addFromStderr(first.bytes, first.size)
    for (let from = 0; from < whole.length; ) {
      from += this.#passOver(whole.subarray(from))
      const end = whole.indexOf(LF, from)
      const line = whole.subarray(from, end)
      this.#addFromStderr(line.length > LOG_LINE_MAX_BYTES ? null : line, line.length + 1)
      from = end + 1
    }
  }

  /** stderr that the driver left out, because it came faster than it can be read. */
  skipped(bytes: number): void {
    this.#splitter.reset()
    this.#note(`${bytes} bytes of stderr were left out`)
  }

  /** The end of stdout was read only from a later line on. */
  skippedStdout(bytes: number): void {
    this.#note(`${bytes} bytes of stdout were left out`)
  }

  /** The next bytes of stderr have this offset: its file was cut, or its engine gives all of it again. */
  restarted(offset = 0): void {
    this.#lineEnd = offset - this.#splitter.pendingBytes
    this.#known.stderr = 0
  }

  /** No more output will come: a last line without its end is logged too. On the way to the disk when this returns. */
  finish(): void {
    if (this.#splitter.pendingBytes > 0) this.take(Buffer.from('\n'), this.#lineEnd)
    this.#addLeftOut()
    this.flush()
  }

  /** The worker goes on without this host: what is not in the log yet is left to the next one. */
  close(): void {
    clearTimeout(this.#later)
    this.flush()
  }

  flush(): void {
    clearImmediate(this.#flushing)
    this.#flushing = undefined
    const lines = this.#lines
    this.#lines = []
    this.#writer.append(lines)
  }

  /** Many lines are written in several turns. */
  #flushSome(): void {
    this.#writer.append(this.#lines.splice(0, LOG_LINES_A_TURN))
    this.#flushing = this.#lines.length === 0 ? undefined : setImmediate(() => this.#flushSome())
  }

  #addFromStdout(source: LogSource, level: LogLevel | null, text: string, position: number): void {
    if (position > 0 && position <= this.#known.stdout) return
    this.#at.stdout = Math.max(this.#at.stdout, position)
    if (this.#flood.isOpen()) this.#add(source, level, text)
    else this.#leaveOut({ source, level, text: text.length > LAST_WORDS_MAX_CHARS ? named(text.length) : text })
  }

  #addFromStderr(bytes: Buffer | null, size: number): void {
    this.#lineEnd += size
    if (this.#lineEnd <= this.#known.stderr) return
    this.#at.stderr = this.#lineEnd
    if (this.#flood.isOpen()) this.#add('stderr', null, bytes?.toString('utf8') ?? named(size))
    else {
      // Not cut, because a secret that the cut splits would not be found.
      const text = bytes === null || size > LAST_WORDS_MAX_CHARS ? named(size) : bytes.toString('utf8')
      this.#leaveOut({ source: 'stderr', level: null, text })
    }
  }

  /** During a flood, all lines but the last ones are only counted; returns their bytes. There may be millions of them. */
  #passOver(whole: Buffer): number {
    if (!this.#flood.isLeavingOut || this.#lineEnd < this.#known.stderr) return 0
    let end = whole.length - 1
    for (let lines = 0; lines < LOG_LAST_WORDS_LINES && end > 0; lines += 1) end = whole.lastIndexOf(LF, end - 1)
    if (end <= 0) return 0
    let lines = 0
    for (let at = 0; at <= end; at += 1) if (whole[at] === LF) lines += 1
    this.#flood.passOver(lines)
    this.#lineEnd += end + 1
    return end + 1
  }

  #leaveOut(line: Said): void {
    this.#flood.leaveOut(line)
    this.#later ??= setTimeout(() => this.#addLeftOut(), 1_000).unref()
  }

  /** After a second of a flood: how much was left out, and its last lines. */
  #addLeftOut(): void {
    clearTimeout(this.#later)
    this.#later = undefined
    const { lines, last } = this.#flood.takeLeftOut()
    if (lines > 0) this.#note(`${lines} lines were left out: too much at once`)
    for (const { source, level, text } of last) this.#add(source, level, text)
  }

  #note(text: string): void {
    this.#add('platform', null, text)
  }

  #add(source: LogSource, level: LogLevel | null, text: string): void {
    const clean = cut(this.#parts.redactor().text(text))
    this.#flood.charge(Math.max(text.length, writtenBytes(clean)))
    this.#lines.push({ at: new Date().toISOString(), source, level, text: clean, cursor: { ...this.#at } })
    this.#flushing ??= setImmediate(() => this.#flushSome())
  }
}

interface Said {
  source: LogSource
  level: LogLevel | null
  text: string
}

/** How much of a flood is kept: a burst, then a rate (a token bucket), and the last lines of what is left out. */
class FloodGate {
  #left = LOG_BURST_BYTES
  #since = performance.now()
  #last: Said[] = []
  #lines = 0
  #isLeavingOut = false

  get isLeavingOut(): boolean {
    return this.#isLeavingOut
  }

  /** Whether the next line is kept. A long one may cost more than is left; those after it pay for it. */
  isOpen(): boolean {
    const now = performance.now()
    this.#left = Math.min(LOG_BURST_BYTES, this.#left + ((now - this.#since) / 1_000) * LOG_RATE_BYTES)
    this.#since = now
    // Lines stay in order: those that wait come first.
    return !this.#isLeavingOut && this.#left > 0
  }

  /** What a line costs: its bytes in the file, for an empty one too. */
  charge(bytes: number): void {
    this.#left -= bytes
  }

  passOver(lines: number): void {
    this.#lines += this.#last.length + lines
    this.#last = []
  }

  leaveOut(line: Said): void {
    this.#isLeavingOut = true
    this.#last.push(line)
    if (this.#last.length <= 2 * LOG_LAST_WORDS_LINES) return
    this.#lines += LOG_LAST_WORDS_LINES
    this.#last = this.#last.slice(LOG_LAST_WORDS_LINES)
  }

  /** The last lines, and how many before them are lost. */
  takeLeftOut(): { lines: number; last: Said[] } {
    let from = this.#last.length
    for (let bytes = 0; from > 0; from -= 1) {
      bytes += writtenBytes(this.#last[from - 1]?.text ?? '')
      if (bytes > LOG_LAST_WORDS_BYTES) break
    }
    const lost = { lines: this.#lines + from, last: this.#last.slice(from) }
    this.#last = []
    this.#lines = 0
    this.#isLeavingOut = false
    return lost
  }
}

function writtenBytes(text: string): number {
  return LOG_LINE_OVERHEAD_BYTES + Buffer.byteLength(JSON.stringify(text))
}

function named(bytes: number): string {
  return `(a line of ${bytes} bytes)`
}

/** Cut after the redaction: a secret that the cut splits would not be found. */
function cut(text: string): string {
  if (text.length <= LOG_TEXT_MAX_CHARS) return text
  return `${text.slice(0, LOG_TEXT_MAX_CHARS)}… (${text.length - LOG_TEXT_MAX_CHARS} more characters)`
}
