/** The stdio of a container's main process as a channel of lines, across any number of attaches (threats D4, D5, D6). */
import type { Duplex } from 'node:stream'
import { RPC_FRAME_MAX_BYTES } from '../../limits.ts'
import type { Channel } from '../../rpc/channel.ts'
import { LineSplitter } from '../../rpc/lines.ts'

export class DockerChannel implements Channel {
  readonly #splitter = new LineSplitter(RPC_FRAME_MAX_BYTES)
  #stream: Duplex | undefined
  #kept: Buffer[] = []
  #keptBytes = 0
  #onLine: (line: string) => void = () => {}
  #onClose: () => void = () => {}
  /** Lines that arrived before there was a listener. */
  #early: { text: string; position: number }[] | undefined = []
  #closed = false
  /** Of the line that is being received. */
  #position = 0
  #read = 0

  get position(): number {
    return this.#position
  }

  send(line: string): void {
    this.#write(Buffer.from(`${line}\n`))
  }

  onLine(listener: (line: string) => void): void {
    this.#onLine = listener
    const early = this.#early ?? []
    this.#early = undefined
    for (const { text, position } of early) {
      this.#position = position
      listener(text)
    }
  }

  onClose(listener: () => void): void {
    this.#onClose = listener
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.detach()
    this.#onClose()
  }

  /**
   * Takes over a stream. After the first one, the pipe may hold half a frame: an LF ends it. Replies held back meanwhile
   * follow.
   */
  attach(stream: Duplex, isFirst: boolean): void {
    this.#stream = stream
    if (!isFirst) stream.write('\n')
    const kept = this.#kept.splice(0)
    this.#keptBytes = 0
    for (const bytes of kept) this.#write(bytes)
  }

  detach(): void {
    this.#stream = undefined
  }

  /** The worker's output starts again from its beginning. */
  restart(): void {
    this.#splitter.reset()
    this.#read = 0
  }

  take(bytes: Buffer): void {
    if (this.#closed) return
    for (const line of this.#splitter.push(bytes)) {
      this.#read += line.size
      // A frame over the limit is noise, like any line that is not JSON-RPC.
      const text = line.bytes === null ? `(a line of ${line.size} bytes)` : line.bytes.toString('utf8')
      if (this.#early !== undefined) this.#early.push({ text, position: this.#read })
      else {
        this.#position = this.#read
        this.#onLine(text)
      }
      if (this.#closed) return
    }
  }

  #write(bytes: Buffer): void {
    if (this.#closed) return
    // A resolver that calls often but does not read loses replies; they must not fill the host's memory.
    if ((this.#stream?.writableLength ?? this.#keptBytes) > RPC_FRAME_MAX_BYTES) return
    if (this.#stream !== undefined) {
      this.#stream.write(bytes)
      return
    }
    this.#kept.push(bytes)
    this.#keptBytes += bytes.length
  }
}
