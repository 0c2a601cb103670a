/**
 * Appends whole lines to `events.jsonl`, the source of truth for events (spec, Worker container layout). Each line is one write
 * with O_APPEND. After a partial write, the next line never continues the torn one.
 */
import * as fs from 'node:fs'

const LF = 0x0a

export class EventLog {
  readonly #fd: number
  #isTorn: boolean

  constructor(path: string) {
    this.#fd = fs.openSync(path, fs.constants.O_APPEND | fs.constants.O_RDWR | fs.constants.O_CREAT, 0o644)
    this.#isTorn = !this.#endsWithLf()
  }

  /** Throws the system's error (ENOSPC, …); the partial line is then removed. */
  append(line: string): void {
    const bytes = Buffer.from(`${this.#isTorn ? '\n' : ''}${line}\n`)
    let written = 0
    try {
      while (written < bytes.length) written += fs.writeSync(this.#fd, bytes, written)
      this.#isTorn = false
    } catch (error) {
      if (written > 0) this.#takeBack(bytes.subarray(0, written))
      throw error
    }
  }

  get size(): number {
    return fs.fstatSync(this.#fd).size
  }

  sync(): void {
    fs.fdatasyncSync(this.#fd)
  }

  /** Cuts off a partial line, unless another writer has appended after it: then the next line starts with an LF. */
  #takeBack(tail: Buffer): void {
    const size = this.size
    const found = Buffer.alloc(tail.length)
    fs.readSync(this.#fd, found, 0, tail.length, size - tail.length)
    if (found.equals(tail)) fs.ftruncateSync(this.#fd, size - tail.length)
    this.#isTorn = !this.#endsWithLf()
  }

  #endsWithLf(): boolean {
    const size = this.size
    if (size === 0) return true
    const last = Buffer.alloc(1)
    fs.readSync(this.#fd, last, 0, 1, size - 1)
    return last[0] === LF
  }
}
