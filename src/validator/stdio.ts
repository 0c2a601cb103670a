/** The validator's end of the channel to the host: lines on stdin and stdout. main.ts opens it. */
import { RPC_FRAME_MAX_BYTES } from '../core/limits.ts'
import type { Channel } from '../core/rpc/channel.ts'
import { LineSplitter } from '../core/rpc/lines.ts'

export class Stdio implements Channel {
  send(line: string): void {
    process.stdout.write(`${line}\n`)
  }

  onLine(listener: (line: string) => void): void {
    const splitter = new LineSplitter(RPC_FRAME_MAX_BYTES)
    process.stdin.on('data', (chunk: Buffer) => {
      for (const { bytes } of splitter.push(chunk)) if (bytes !== null) listener(bytes.toString('utf8'))
    })
  }

  onClose(listener: () => void): void {
    process.stdin.once('close', listener)
  }

  close(): void {
    process.stdin.destroy()
  }
}
