/** The resolver's end of the channel: lines on stdin and on the real stdout (spec, serve()). serve.ts opens it. */
import { writeSync } from 'node:fs'
import { isDiskFull, systemCode } from '../core/errors.ts'
import type { Channel } from '../core/rpc/channel.ts'
import { LineSplitter } from '../core/rpc/lines.ts'

const RETRY_MS = 5

/** Frames of the host are trusted and limited by the host. */
const NO_CAP = Number.MAX_SAFE_INTEGER

/** File descriptors, not streams: process.stdout is what the author's code prints to, and it leads to stderr. */
export class StdioChannel implements Channel {
  readonly #unsent: Buffer[] = []
  #timer: NodeJS.Timeout | undefined
  #isGone = false

  send(line: string): void {
    if (this.#isGone) return
    this.#unsent.push(Buffer.from(`${line}\n`))
    this.flush()
  }

  onLine(listener: (line: string) => void): void {
    const splitter = new LineSplitter(NO_CAP)
    process.stdin.on('data', (chunk: Buffer) => {
      for (const line of splitter.push(chunk)) if (line.bytes !== null) listener(line.bytes.toString('utf8'))
    })
  }

  /** Never called: when stdin ends, stdout can still be read. */
  onClose(): void {}

  close(): void {
    process.stdin.destroy()
  }

  /** Sends what fits; the rest follows when the pipe or the disk has room again. */
  flush(): void {
    while (this.#unsent[0] !== undefined) {
      try {
        const written = writeSync(1, this.#unsent[0])
        const rest = this.#unsent[0].subarray(written)
        if (rest.length === 0) this.#unsent.shift()
        else this.#unsent[0] = rest
      } catch (error) {
        this.#wait(error)
        return
      }
    }
  }

  #wait(error: unknown): void {
    if (systemCode(error) === 'EAGAIN' || isDiskFull(error)) {
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined
        this.flush()
      }, RETRY_MS)
      return
    }
    // EPIPE, EBADF: no process reads the channel any more. Files hold what matters, so the resolver goes on.
    this.#isGone = true
    this.#unsent.length = 0
  }
}
