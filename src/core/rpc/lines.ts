/** Splits a stream of bytes into lines at LF, with a size limit: for JSON-RPC frames and for events (R16, R41). */

const LF = 0x0a

export interface Line {
  /** The bytes before the LF; null where the line was over the limit and was skipped. */
  bytes: Buffer | null
  /** The size of the line in bytes, including its LF. */
  size: number
}

/**
 * A splitter that never holds more than `maxBytes` of an unfinished line. Past the limit it skips to the next LF and then
 * reports the line once, without its bytes. It splits bytes, so it never cuts a character in two.
 */
export class LineSplitter {
  readonly #maxBytes: number
  #held: Buffer[] = []
  #heldBytes = 0
  #skipping = false

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Bytes of the unfinished line so far. */
  get pendingBytes(): number {
    return this.#heldBytes
  }

  *push(chunk: Buffer): Generator<Line> {
    let start = 0
    while (start < chunk.length) {
      const end = chunk.indexOf(LF, start)
      if (end === -1) {
        this.#hold(chunk.subarray(start))
        return
      }
      yield this.#finish(chunk.subarray(start, end))
      start = end + 1
    }
  }

  /**
   * Like {@link push}, for callers that handle many lines at once: returns the end of the line that began before, and all whole
   * lines after it in one buffer, not split and not checked against the limit.
   */
  take(chunk: Buffer): { first: Line | undefined; whole: Buffer } {
    const end = chunk.lastIndexOf(LF) + 1
    let start = 0
    let first: Line | undefined
    if (end > 0 && this.#heldBytes > 0) {
      start = chunk.indexOf(LF) + 1
      first = this.#finish(chunk.subarray(0, start - 1))
    }
    if (end < chunk.length) this.#hold(chunk.subarray(end))
    return { first, whole: chunk.subarray(start, end) }
  }

  /** Drops the unfinished line and returns its length: for a stream that starts again. */
  reset(): number {
    const dropped = this.#heldBytes
    this.#held = []
    this.#heldBytes = 0
    this.#skipping = false
    return dropped
  }

  #hold(piece: Buffer): void {
    this.#heldBytes += piece.length
    if (this.#skipping) return
    if (this.#heldBytes > this.#maxBytes) {
      this.#skipping = true
      this.#held = []
      return
    }
    // A copy, because the caller may reuse its buffer before the rest of the line arrives.
    this.#held.push(Buffer.from(piece))
  }

  #finish(last: Buffer): Line {
    const size = this.#heldBytes + last.length + 1
    const whole = this.#skipping || size - 1 > this.#maxBytes ? null : this.#joined(last)
    this.reset()
    return { bytes: whole, size }
  }

  #joined(last: Buffer): Buffer {
    if (this.#held.length === 0) return last
    return Buffer.concat([...this.#held, last])
  }
}
