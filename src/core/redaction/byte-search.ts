/**
 * Searches for many byte strings at once, skipping most bytes (Wu and Manber): {@link file://./redact.ts} checks every event
 * line with it.
 */

const BLOCK = 2
/** Blocks that share a slot get the smallest shift of them. Every instance has such a table; 8 KiB skips as well as 64 would. */
const SLOTS = 1 << 13

export class ByteSearch {
  readonly #window: number
  /** By the slot of a two-byte block: how far the window may move when it ends with that block. */
  readonly #shifts: Uint8Array
  /** The needles whose window ends with a block of that slot. */
  readonly #endingWith = new Map<number, Buffer[]>()

  /** `window`: the length of the shortest needle, at least 2. */
  constructor(needles: readonly Buffer[], window: number) {
    this.#window = window
    this.#shifts = new Uint8Array(SLOTS).fill(window - BLOCK + 1)
    for (const needle of togetherAlone(needles)) {
      for (let at = BLOCK - 1; at < window; at += 1) {
        const slot = slotAt(needle, at)
        this.#shifts[slot] = Math.min(this.#shifts[slot] as number, window - 1 - at)
      }
      const last = slotAt(needle, window - 1)
      this.#endingWith.set(last, [...(this.#endingWith.get(last) ?? []), needle])
    }
  }

  /** Whether any needle is in the bytes. */
  isIn(bytes: Buffer): boolean {
    const shifts = this.#shifts
    for (let at = this.#window - 1; at < bytes.length; ) {
      const slot = (((bytes[at - 1] as number) << 5) ^ (bytes[at] as number)) & (SLOTS - 1)
      const shift = shifts[slot] as number
      if (shift === 0 && this.#matches(bytes, at, slot)) return true
      at += shift || 1
    }
    return false
  }

  #matches(bytes: Buffer, at: number, slot: number): boolean {
    const start = at - this.#window + 1
    for (const needle of this.#endingWith.get(slot) as Buffer[]) if (startsWith(bytes, start, needle)) return true
    return false
  }
}

/** In its own memory: a short buffer from the shared pool would keep 64 KiB of it alive as long as the instance. */
function togetherAlone(needles: readonly Buffer[]): Buffer[] {
  const all = Buffer.alloc(needles.reduce((sum, { length }) => sum + length, 0))
  let end = 0
  return needles.map((needle) => {
    const start = end
    end += needle.copy(all, start)
    return all.subarray(start, end)
  })
}

/** A loop, because most candidates differ at once, and a call into the runtime costs more. */
function startsWith(bytes: Buffer, start: number, needle: Buffer): boolean {
  for (let at = 0; at < needle.length; at += 1) if (bytes[start + at] !== needle[at]) return false
  return true
}

function slotAt(bytes: Buffer, at: number): number {
  return (((bytes[at - 1] as number) << 5) ^ (bytes[at] as number)) & (SLOTS - 1)
}
