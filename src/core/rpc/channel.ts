/** A two-way channel of text lines: the transport of a {@link file://./peer.ts}. */

export interface Channel {
  /** Sends one line; the channel adds the LF. */
  send(line: string): void
  /** Called for each received line, without its LF. Only one listener. */
  onLine(listener: (line: string) => void): void
  /** Called once, when no more lines will arrive. */
  onClose(listener: () => void): void
  /** While a line is received: the offset just after it in all that the other side sent. Only for output that can be read again. */
  readonly position?: number
  /** The other side has ended: receives the rest of what it sent, of much only the end. */
  drain?(onLeftOut: (bytes: number) => void): Promise<void>
  close(): void
}

/** Two connected ends in memory: a line sent on one arrives on the other in a later microtask. For tests. */
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
