/** Looks for many byte strings at once, mostly skipping (Wu and Manber): {@link file://./redact.ts} asks it about every event line. */

const BLOCK = 2

export class ByteSearch {
  readonly #window: number
  /** By a block of two bytes: how far the window may move when it ends with that block. */
  readonly #shifts: Uint8Array
  /** The needles whose window ends with a block. */
  readonly #endingWith = new Map<number, Buffer[]>()

  /** `window`: the length of the shortest needle, at least 2. */
  constructor(needles: readonly Buffer[], window: number) {
    this.#window = window
    this.#shifts = new Uint8Array(1 << 16).fill(window - BLOCK + 1)
    for (const needle of needles) {
      for (let at = BLOCK - 1; at < window; at += 1) {
        const block = blockAt(needle, at)
        this.#shifts[block] = Math.min(this.#shifts[block] as number, window - 1 - at)
      }
      const last = blockAt(needle, window - 1)
      this.#endingWith.set(last, [...(this.#endingWith.get(last) ?? []), needle])
    }
  }

  /** Whether any needle is in the bytes. */
  isIn(bytes: Buffer): boolean {
    const shifts = this.#shifts
    for (let at = this.#window - 1; at < bytes.length; ) {
      const block = ((bytes[at - 1] as number) << 8) | (bytes[at] as number)
      const shift = shifts[block] as number
      if (shift === 0 && this.#matches(bytes, at, block)) return true
      at += shift || 1
    }
    return false
  }

  #matches(bytes: Buffer, at: number, block: number): boolean {
    const start = at - this.#window + 1
    for (const needle of this.#endingWith.get(block) as Buffer[]) if (startsWith(bytes, start, needle)) return true
    return false
  }
}

/** By hand: what differs differs at once, and a call into the runtime costs more than a line. */
function startsWith(bytes: Buffer, start: number, needle: Buffer): boolean {
  for (let at = 0; at < needle.length; at += 1) if (bytes[start + at] !== needle[at]) return false
  return true
}

function blockAt(bytes: Buffer, at: number): number {
  return ((bytes[at - 1] as number) << 8) | (bytes[at] as number)
}
