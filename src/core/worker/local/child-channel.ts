/** The stdio of a child process as a channel of lines: of an inquiry, and of a helper. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { RPC_FRAME_MAX_BYTES } from '../../limits.ts'
import type { Channel } from '../../rpc/channel.ts'
import { LineSplitter } from '../../rpc/lines.ts'

export class ChildChannel implements Channel {
  readonly #child: ChildProcessWithoutNullStreams
  readonly #splitter = new LineSplitter(RPC_FRAME_MAX_BYTES)

  constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child
    // A resolver that ends early closes its stdin: the pending call reports that.
    child.stdin.on('error', () => {})
  }

  send(line: string): void {
    this.#child.stdin.write(`${line}\n`)
  }

  onLine(listener: (line: string) => void): void {
    this.#child.stdout.on('data', (bytes: Buffer) => {
      for (const line of this.#splitter.push(bytes)) listener(line.bytes === null ? '' : line.bytes.toString('utf8'))
    })
  }

  onClose(listener: () => void): void {
    this.#child.on('error', listener)
    this.#child.on('close', listener)
  }

  close(): void {
    this.#child.stdin.destroy()
  }
}
