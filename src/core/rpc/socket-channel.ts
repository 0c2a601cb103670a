/** A {@link Channel} over a socket: the control connection between a command and the host of an instance. */
import type { Socket } from 'node:net'
import { RPC_FRAME_MAX_BYTES } from '../limits.ts'
import type { Channel } from './channel.ts'
import { LineSplitter } from './lines.ts'

export class SocketChannel implements Channel {
  readonly #socket: Socket
  readonly #splitter = new LineSplitter(RPC_FRAME_MAX_BYTES)

  constructor(socket: Socket) {
    this.#socket = socket
    // The 'close' that follows tells the peer.
    socket.on('error', () => {})
  }

  send(line: string): void {
    this.#socket.write(`${line}\n`)
  }

  onLine(listener: (line: string) => void): void {
    this.#socket.on('data', (bytes: Buffer) => {
      for (const line of this.#splitter.push(bytes)) {
        if (line.bytes === null) this.#socket.destroy()
        else listener(line.bytes.toString('utf8'))
      }
    })
  }

  onClose(listener: () => void): void {
    this.#socket.on('close', listener)
  }

  close(): void {
    this.#socket.end()
  }
}
