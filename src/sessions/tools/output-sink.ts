/**
 * What a command prints: its beginning and end for the model, and the whole in a file that the model can read. {@link
 * file://./run-command.ts} fills it.
 */
import { closeSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs'
import { stripVTControlCharacters } from 'node:util'
import { SESSION_OUTPUT_FILE_MAX_BYTES, TOOL_SHELL_HEAD_BYTES, TOOL_SHELL_TAIL_BYTES } from '../../core/limits.ts'
import type { Redactor } from '../../core/redaction/redact.ts'

export class OutputSink {
  readonly #path: string
  /** How many bytes of the session's files are left. */
  readonly #room: number
  #head: Buffer = Buffer.alloc(0)
  #tail: Buffer = Buffer.alloc(0)
  #bytes = 0
  #kept = 0
  #fd: number | undefined
  #isClosed = false

  constructor(path: string, roomBytes: number) {
    this.#path = path
    this.#room = Math.min(SESSION_OUTPUT_FILE_MAX_BYTES, Math.max(0, roomBytes))
  }

  /** How many bytes were printed. */
  get bytes(): number {
    return this.#bytes
  }

  get keptBytes(): number {
    return this.#fd === undefined ? 0 : this.#kept
  }

  push(chunk: Buffer): void {
    if (this.#bytes + chunk.length > WHOLE_BYTES) this.#keep(chunk)
    this.#bytes += chunk.length
    const forHead = Math.max(0, TOOL_SHELL_HEAD_BYTES - this.#head.length)
    if (forHead > 0) this.#head = Buffer.concat([this.#head, chunk.subarray(0, forHead)])
    if (chunk.length <= forHead) return
    const rest = chunk.subarray(forHead)
    this.#tail = Buffer.concat([this.#tail, rest.subarray(-TAIL_BYTES)]).subarray(-TAIL_BYTES)
  }

  /** As the model gets it. */
  text(): string {
    if (this.#bytes <= WHOLE_BYTES) return clean(Buffer.concat([this.#head, this.#tail]))
    const left = this.#bytes - TOOL_SHELL_HEAD_BYTES - TOOL_SHELL_TAIL_BYTES
    const where =
      this.#fd === undefined
        ? ''
        : `; ${this.#kept === this.#bytes ? 'all' : `the first ${this.#kept}`} in ${this.#path}`
    const tail = this.#tail.subarray(-TOOL_SHELL_TAIL_BYTES)
    return `${clean(this.#head.subarray(0, TOOL_SHELL_HEAD_BYTES))}\n[${left} of ${this.#bytes} bytes left out${where}]\n${clean(tail)}`
  }

  /**
   * The file is the last place that known secrets could stand in: they are redacted now that each is whole in it. Its path is not opened
   * again: the command may have put a FIFO or a link there.
   */
  close(redactor: Redactor): void {
    const fd = this.#fd
    if (fd === undefined || this.#isClosed) return
    this.#isClosed = true
    try {
      const bytes = Buffer.alloc(this.#kept)
      const length = readSync(fd, bytes, 0, bytes.length, 0)
      const whole = bytes.subarray(0, length)
      if (!redactor.holds(whole)) return
      const clean = Buffer.from(redactor.text(whole.toString('utf8')))
      ftruncateSync(fd, 0)
      for (let at = 0; at < clean.length; ) at += writeSync(fd, clean, at, clean.length - at, at)
    } finally {
      closeSync(fd)
    }
  }

  #keep(chunk: Buffer): void {
    if (this.#isClosed) return
    try {
      if (this.#fd === undefined) {
        if (this.#room < WHOLE_BYTES) return
        this.#fd = openSync(this.#path, 'wx+', 0o600)
        // Until now, everything fitted in head and tail.
        this.#write(Buffer.concat([this.#head, this.#tail]))
      }
      this.#write(chunk)
    } catch {
      // A full disk costs the file, not the command.
    }
  }

  #write(bytes: Buffer): void {
    const part = bytes.subarray(0, Math.max(0, this.#room - this.#kept))
    if (this.#fd === undefined || part.length === 0) return
    this.#kept += writeSync(this.#fd, part)
  }
}

/** What fits whole. The tail that is held is longer than the one that is shown, so that nothing is missing before the file begins. */
const WHOLE_BYTES = TOOL_SHELL_HEAD_BYTES + TOOL_SHELL_TAIL_BYTES
const TAIL_BYTES = WHOLE_BYTES

function clean(bytes: Buffer): string {
  return stripVTControlCharacters(bytes.toString('utf8')).replace(/\r\n/g, '\n')
}
