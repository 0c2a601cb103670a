/** Keeps the end of a worker's stderr in a file of the instance, to show why a worker failed. */
import * as fs from 'node:fs'
import { STDERR_KEEP_BYTES } from '../limits.ts'

const LF = 0x0a

export class StderrFile {
  readonly #path: string
  #fd: number | undefined
  #bytes = 0

  constructor(path: string) {
    this.#path = path
  }

  /** Starts an empty file. */
  restart(): void {
    this.close()
    try {
      this.#fd = fs.openSync(this.#path, 'w', 0o600)
    } catch {
      // The run goes on when the disk is full or the directory is missing.
    }
    this.#bytes = 0
  }

  append(bytes: Buffer): void {
    if (this.#fd === undefined) return
    try {
      // A flood must not fill the disk: the file is started again, so the last output is kept.
      if (this.#bytes + bytes.length > STDERR_KEEP_BYTES) {
        fs.ftruncateSync(this.#fd, 0)
        this.#bytes = 0
      }
      fs.writeSync(this.#fd, bytes, 0, bytes.length, this.#bytes)
      this.#bytes += bytes.length
    } catch {
      // The run goes on, as above.
    }
  }

  close(): void {
    if (this.#fd !== undefined) fs.closeSync(this.#fd)
    this.#fd = undefined
  }
}

/** Cuts a file that another process appends to: only its last whole lines stay. Returns their size. */
export function keepEnd(path: string, maxBytes: number): number {
  const fd = fs.openSync(path, fs.constants.O_RDWR | fs.constants.O_NOFOLLOW)
  try {
    const { size } = fs.fstatSync(fd)
    const buffer = Buffer.alloc(Math.min(size, maxBytes))
    const read = fs.readSync(fd, buffer, 0, buffer.length, size - buffer.length)
    const end = buffer.subarray(buffer.indexOf(LF) + 1, read)
    const kept = fs.writeSync(fd, end, 0, end.length, 0)
    fs.ftruncateSync(fd, kept)
    return kept
  } finally {
    fs.closeSync(fd)
  }
}

/** The last bytes of such a file; empty where there is none. */
export function tailOf(path: string, maxBytes: number): string {
  try {
    const fd = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW)
    try {
      const { size } = fs.fstatSync(fd)
      const buffer = Buffer.alloc(Math.min(size, maxBytes))
      fs.readSync(fd, buffer, 0, buffer.length, size - buffer.length)
      return buffer.toString('utf8')
    } finally {
      fs.closeSync(fd)
    }
  } catch {
    return ''
  }
}
