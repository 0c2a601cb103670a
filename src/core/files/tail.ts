/**
 * Reads a growing file from an offset on, and notices when it is cut or replaced (threats FS-10). The monitor and journal
 * readers use it.
 */
import * as fs from 'node:fs'

export interface Chunk {
  bytes: Buffer
  /** The offset just after these bytes. */
  end: number
}

export interface OpenedFile {
  fd: number
  stat: fs.Stats
}

const CHUNK_BYTES = 256 * 1024

export class Tail {
  readonly #open: () => OpenedFile | undefined
  #opened: { fd: number; ino: number } | undefined
  #offset: number

  /** `open` returns the file that has the name now; the tail closes it. */
  constructor(open: () => OpenedFile | undefined, offset: number) {
    this.#open = open
    this.#offset = offset
  }

  get offset(): number {
    return this.#offset
  }

  /** How many bytes are there and not read yet. */
  get behind(): number {
    const file = this.#ensureOpen()
    return file === undefined ? 0 : Math.max(0, fs.fstatSync(file.fd).size - this.#offset)
  }

  /** The next bytes, or undefined at the current end of the file. May throw what `open` throws. */
  read(): Chunk | undefined {
    const file = this.#ensureOpen()
    if (file === undefined) return undefined
    // The buffer is no larger than the data: events arrive line by line, and large buffers for small lines would only make work
    // for the garbage collector.
    const there = fs.fstatSync(file.fd).size - this.#offset
    if (there <= 0) return undefined
    const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, there))
    const read = fs.readSync(file.fd, buffer, 0, buffer.length, this.#offset)
    if (read === 0) return undefined
    this.#offset += read
    return { bytes: buffer.subarray(0, read), end: this.#offset }
  }

  /** Moves back, so that bytes that could not be stored are read again. */
  seek(offset: number): void {
    this.#offset = offset
  }

  /** Whether the file was cut below the offset or replaced by another. Reading then starts again at its beginning. */
  wasReset(): boolean {
    const file = this.#ensureOpen()
    if (file === undefined) return false
    const now = this.#open()
    if (now === undefined) return false
    if (now.stat.ino === file.ino && now.stat.size >= this.#offset) {
      fs.closeSync(now.fd)
      return false
    }
    fs.closeSync(file.fd)
    this.#opened = { fd: now.fd, ino: now.stat.ino }
    this.#offset = 0
    return true
  }

  close(): void {
    if (this.#opened !== undefined) fs.closeSync(this.#opened.fd)
    this.#opened = undefined
  }

  #ensureOpen(): { fd: number; ino: number } | undefined {
    if (this.#opened === undefined) {
      const file = this.#open()
      if (file !== undefined) this.#opened = { fd: file.fd, ino: file.stat.ino }
    }
    return this.#opened
  }
}

/** Opens a regular file for a {@link Tail}; for directories that only the platform writes to. */
export function openOwnFile(path: string): OpenedFile | undefined {
  try {
    const fd = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW)
    return { fd, stat: fs.fstatSync(fd) }
  } catch {
    return undefined
  }
}
