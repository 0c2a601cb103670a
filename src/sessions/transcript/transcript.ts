/**
 * The file of a session: each line is appended, redacted, before it counts. A process that is killed loses at most the line that it was
 * writing. {@link file://./../session.ts} opens it.
 */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fail, isDiskFull } from '../../core/errors.ts'
import { TRANSCRIPT_RESUME_MAX_BYTES } from '../../core/limits.ts'
import { backoffMs } from '../../core/primitives/backoff.ts'
import { OUTPUTS_DIR, TRANSCRIPT_FILE } from '../../core/protocol/session/session.ts'
import type { Redactor } from '../../core/redaction/redact.ts'
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
    fs.mkdirSync(join(directory, OUTPUTS_DIR), { recursive: true, mode: 0o700 })
    const path = join(directory, TRANSCRIPT_FILE)
    this.#fd = fs.openSync(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600)
    const stat = fs.fstatSync(this.#fd)
    const problem = (what: string) => fail('session_options_invalid', { session, problem: `its transcript ${what}` })
    if (!stat.isFile()) throw problem('is not a regular file')
    if (stat.size > TRANSCRIPT_RESUME_MAX_BYTES) throw problem(`has ${stat.size} bytes`)
    this.#readBack(stat.size, problem)
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
    const line = this.redactor.value({ seq: this.#seq + 1, at, type, ...data }) as unknown as Line
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
      let line: Line
      try {
        line = JSON.parse(bytes.toString('utf8', start, stop)) as Line
      } catch (error) {
        throw problem(`can't be read: line ${this.#seq + 1} is ${error instanceof Error ? error.message : 'broken'}`)
      }
      this.#seq = line.seq
      this.history.apply(line)
      start = stop + 1
    }
  }
}

const FULL_RETRY_MIN_MS = 50
const FULL_RETRY_MAX_MS = 2_000
