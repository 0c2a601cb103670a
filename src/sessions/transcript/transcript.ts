/**
 * The file of a session: each line is appended, redacted, before it counts. A process that is killed loses at most the line that it was
 * writing. {@link file://./../session.ts} opens it.
 */
import * as fs from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fail, isDiskFull } from '../../core/errors.ts'
import { TRANSCRIPT_RESUME_MAX_BYTES } from '../../core/limits.ts'
import { backoffMs } from '../../core/primitives/backoff.ts'
import { wellFormed } from '../../core/primitives/well-formed.ts'
import { OUTPUTS_DIR, TRANSCRIPT_FILE, transcriptLine } from '../../core/protocol/session/session.ts'
import type { Redactor } from '../../core/redaction/redact.ts'
import { fits } from '../../core/schema/fits.ts'
import { History } from './history.ts'
import type { Line, LineOf, LineType } from './lines.ts'

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDWR } = fs.constants
const LF = 0x0a

/** Lines that were paid for, or that a resume answers with: they are synced. */
const DURABLE: readonly LineType[] = ['step', 'answer', 'compaction']

export class Transcript {
  readonly history = new History()
  readonly directory: string
  readonly redactor: Redactor
  readonly #fd: number
  #seq = 0
  #last: Promise<void> = Promise.resolve()

  /** `directory`: of the session; it is made. Throws `session_options_invalid` where the file is no transcript. */
  constructor(directory: string, session: string, redactor: Redactor) {
    this.directory = directory
    this.redactor = redactor
    const problem = (what: string) => fail('session_options_invalid', { session, problem: `its transcript ${what}` })
    const outputs = join(directory, OUTPUTS_DIR)
    // A command of an earlier session could have put a link there: what this one reads and writes would be elsewhere.
    for (const one of [dirname(directory), directory, outputs]) {
      const found = fs.lstatSync(one, { throwIfNoEntry: false })
      if (found === undefined) fs.mkdirSync(one, { mode: 0o700 })
      else if (!found.isDirectory()) throw problem(`can't be kept: ${one} is no directory`)
    }
    const path = join(directory, TRANSCRIPT_FILE)
    this.#fd = fs.openSync(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600)
    try {
      const stat = fs.fstatSync(this.#fd)
      if (!stat.isFile()) throw problem('is not a regular file')
      if (stat.size > TRANSCRIPT_RESUME_MAX_BYTES) throw problem(`has ${stat.size} bytes`)
      this.#readBack(stat.size, problem)
    } catch (error) {
      fs.closeSync(this.#fd)
      throw error
    }
  }

  /** Appends one line and applies it. While the disk is full, it waits. Throws the signal's reason, and the system's other errors. */
  async append<T extends LineType>(type: T, data: LineOf[T], signal?: AbortSignal): Promise<void> {
    // One after another: parallel calls of tools write here.
    const before = this.#last
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#last = promise
    await before
    try {
      for (let tries = 0; ; tries += 1) {
        try {
          this.appendNow(type, data)
          return
        } catch (error) {
          if (!isDiskFull(error)) throw error
          signal?.throwIfAborted()
          await sleep(backoffMs(tries, FULL_RETRY_MIN_MS, FULL_RETRY_MAX_MS))
        }
      }
    } finally {
      resolve()
    }
  }

  /** As {@link append}, for a process that is about to end. Throws the system's error; then nothing was appended. */
  appendNow<T extends LineType>(type: T, data: LineOf[T]): void {
    const at = new Date().toISOString()
    const told = this.redactor.value({ seq: this.#seq + 1, at, type, ...data }) as unknown as Line
    const line = whole(told, JSON.stringify(told))
    this.#write(Buffer.from(`${JSON.stringify(line)}\n`))
    if (DURABLE.includes(type)) fs.fdatasyncSync(this.#fd)
    this.#seq += 1
    this.history.apply(line)
  }

  #write(bytes: Buffer): void {
    const { size } = fs.fstatSync(this.#fd)
    try {
      for (let written = 0; written < bytes.length; ) written += fs.writeSync(this.#fd, bytes, written)
    } catch (error) {
      fs.ftruncateSync(this.#fd, size)
      throw error
    }
  }

  /** A torn last line was never acted on: it is cut off. */
  #readBack(size: number, problem: (what: string) => Error): void {
    const bytes = Buffer.alloc(size)
    for (let read = 0, got = 1; read < size && got > 0; read += got)
      got = fs.readSync(this.#fd, bytes, read, size - read, read)
    const end = bytes.lastIndexOf(LF) + 1
    if (end < size) fs.ftruncateSync(this.#fd, end)
    for (let start = 0; start < end; ) {
      const stop = bytes.indexOf(LF, start)
      if (!this.#takeBack(bytes.toString('utf8', start, stop)))
        throw problem(`can't be read: line ${this.#seq + 1} is no line of a transcript`)
      start = stop + 1
    }
  }

  /** False for what this program did not write: another shape throws in the history. */
  #takeBack(text: string): boolean {
    try {
      const line: unknown = JSON.parse(text)
      if (!fits(transcriptLine, line)) return false
      this.history.apply(whole(line as unknown as Line, text))
      this.#seq = line.seq
      return true
    } catch {
      return false
    }
  }
}

/** As it may be sent: JSON writes half a character as an escape, and nothing else that begins so. */
function whole(line: Line, text: string): Line {
  return text.includes('\\ud') ? wellFormed(line) : line
}

const FULL_RETRY_MIN_MS = 50
const FULL_RETRY_MAX_MS = 2_000
