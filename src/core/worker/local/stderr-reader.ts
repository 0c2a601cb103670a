/** Reads the file that a local worker appends its stderr to, and skips to its end where the worker is faster than its host. */
import * as fs from 'node:fs'
import { openOwnFile } from '../../files/tail.ts'
import { LOG_BEHIND_MAX_BYTES, LOG_BUSY_MS, MIB } from '../../limits.ts'
import type { StderrListener, StderrReading } from '../worker.ts'

const CHUNK_BYTES = 256 * 1024
/** A worker that wrote more than this at once is read again after a pause. */
const BUSY_BYTES = 1 * MIB
const LF = 0x0a

export class StderrReader implements StderrReading {
  readonly #path: string
  readonly #listener: StderrListener
  #offset: number
  #pause: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(path: string, listener: StderrListener, from: number) {
    this.#path = path
    this.#listener = listener
    this.#offset = from
  }

  /** Called when the file may have grown; often, and mostly in vain. */
  check(): void {
    if (this.#pause !== undefined || this.#isClosed) return
    if (this.#read() <= BUSY_BYTES) return
    this.#pause = setTimeout(() => {
      this.#pause = undefined
      this.check()
    }, LOG_BUSY_MS).unref()
  }

  drain(): void {
    clearTimeout(this.#pause)
    this.#pause = undefined
    if (!this.#isClosed) this.#read()
  }

  /** The file was cut after all of it was read; `kept`: how much of its end it still has. */
  cut(kept = 0): void {
    this.#offset = kept
    this.#listener.restarted(kept)
  }

  close(): void {
    clearTimeout(this.#pause)
    this.#isClosed = true
  }

  #read(): number {
    const { size } = fs.statSync(this.#path, { throwIfNoEntry: false }) ?? { size: 0 }
    // An earlier host cut it and died before it could say so.
    if (size < this.#offset) this.cut()
    if (size === this.#offset) return 0
    const file = openOwnFile(this.#path)
    if (file === undefined) return 0
    try {
      const behind = size - this.#offset
      if (behind > LOG_BEHIND_MAX_BYTES) this.#skip(file.fd, size - BUSY_BYTES)
      while (this.#offset < size) {
        const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size - this.#offset))
        const bytes = buffer.subarray(0, fs.readSync(file.fd, buffer, 0, buffer.length, this.#offset))
        if (bytes.length === 0) break
        this.#listener.take(bytes, this.#offset)
        this.#offset += bytes.length
      }
      return behind
    } finally {
      fs.closeSync(file.fd)
    }
  }

  /** To the beginning of a line. */
  #skip(fd: number, to: number): void {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES)
    const start = buffer.subarray(0, fs.readSync(fd, buffer, 0, buffer.length, to)).indexOf(LF) + 1
    this.#listener.skipped(to + start - this.#offset)
    this.#offset = to + start
  }
}
