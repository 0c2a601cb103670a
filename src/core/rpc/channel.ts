/** A two-way channel of text lines, the only thing a {@link file://./peer.ts} needs from its transport. */

export interface Channel {
  /** Sends one line; the channel adds the LF. */
  send(line: string): void
  /** Called for each line that arrives, without its LF. Only one listener. */
  onLine(listener: (line: string) => void): void
  /** Called once when nothing more will arrive. */
  onClose(listener: () => void): void
  close(): void
}

/** Two ends in memory: what one sends the other receives, in a later microtask. For tests. */
export function pairedChannels(): [Channel, Channel] {
  const ends = [new MemoryEnd(), new MemoryEnd()] as const
  ends[0].other = ends[1]
  ends[1].other = ends[0]
  return [ends[0], ends[1]]
}

class MemoryEnd implements Channel {
  other!: MemoryEnd
  #line: (line: string) => void = () => {}
  #close: () => void = () => {}
  #closed = false

  send(line: string): void {
    if (this.#closed) return
    queueMicrotask(() => {
      if (!this.other.#closed) this.other.#line(line)
    })
  }

  onLine(listener: (line: string) => void): void {
    this.#line = listener
  }

  onClose(listener: () => void): void {
    this.#close = listener
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#close()
    this.other.close()
  }
}
