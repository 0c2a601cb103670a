/** The stdio of a local worker: stdin is a FIFO, stdout a file, so both outlive the host (architecture, decision 3). */
import * as fs from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { systemCode } from '../../errors.ts'
import { openOwnFile, Tail } from '../../files/tail.ts'
import { LOG_BEHIND_MAX_BYTES, RPC_FRAME_MAX_BYTES, STDOUT_END_BYTES } from '../../limits.ts'
import type { Channel } from '../../rpc/channel.ts'
import { LineSplitter } from '../../rpc/lines.ts'

const LF = 0x0a
const RETRY_MS = 10
/** A chunk of empty lines has 250,000 of them. */
const CHUNKS_A_TURN = 1

export class LocalChannel implements Channel {
  readonly #stdin: number
  readonly #stdout: Tail
  readonly #splitter = new LineSplitter(RPC_FRAME_MAX_BYTES)
  readonly #queue: Buffer[] = []
  /** Resolves when the worker has written something, or with the end of the channel. */
  readonly spoke: Promise<void>
  #noteSpoke: () => void = () => {}
  #onLine: ((line: string) => void) | undefined
  #onClose: () => void = () => {}
  #retry: NodeJS.Timeout | undefined
  #again: NodeJS.Immediate | undefined
  #closed = false
  #queuedBytes = 0
  #position = 0

  /** `resumed`: an earlier host may have died within a frame; the first byte is then an LF (threats D5). */
  constructor(stdinPath: string, stdoutPath: string, resumed: boolean) {
    // Opened read-write, so that opening never waits for a reader and writing never fails for lack of one.
    this.spoke = new Promise((resolve) => {
      this.#noteSpoke = resolve
    })
    this.#stdin = fs.openSync(stdinPath, fs.constants.O_RDWR | fs.constants.O_NONBLOCK)
    this.#stdout = new Tail(() => openOwnFile(stdoutPath), 0)
    if (resumed) this.#push(Buffer.from('\n'))
  }

  get position(): number {
    return this.#position
  }

  send(line: string): void {
    this.#push(Buffer.from(`${line}\n`))
  }

  /** Delivers what was written before in the next turn. */
  onLine(listener: (line: string) => void): void {
    this.#onLine = listener
    this.#pollSoon()
  }

  onClose(listener: () => void): void {
    this.#onClose = listener
  }

  /** Reads what the worker has written since the last call. Nothing is read before there is a listener: it would be lost. */
  poll(): void {
    // At most one read per turn of the event loop, however often it is requested.
    if (this.#closed || this.#again !== undefined) return
    if (this.#onLine === undefined) {
      if (this.#stdout.behind > 0) this.#noteSpoke()
      return
    }
    for (let turn = 0; !this.#closed; turn += 1) {
      // A flood must not starve the other work of this process.
      if (turn === CHUNKS_A_TURN) {
        this.#pollSoon()
        return
      }
      const chunk = this.#stdout.read()
      if (chunk === undefined) return
      this.#noteSpoke()
      for (const line of this.#splitter.push(chunk.bytes)) {
        this.#position += line.size
        // A frame over the limit is noise, like any line that is not JSON-RPC.
        this.#onLine(line.bytes === null ? `(a line of ${line.size} bytes)` : line.bytes.toString('utf8'))
        if (this.#closed) return
      }
    }
  }

  #pollSoon(): void {
    this.#again ??= setImmediate(() => {
      this.#again = undefined
      this.poll()
    })
  }

  async drain(onLeftOut: (bytes: number) => void): Promise<void> {
    if (this.#closed || this.#onLine === undefined) return
    // No further than it reaches now: a process that escaped may go on writing.
    const end = this.#stdout.offset + this.#stdout.behind
    if (this.#stdout.behind > LOG_BEHIND_MAX_BYTES) onLeftOut(this.#skipTo(end - STDOUT_END_BYTES))
    while (!this.#closed && this.#stdout.offset < end && this.#stdout.behind > 0) {
      this.poll()
      await nextTurn()
    }
  }

  /** To the beginning of a line. Returns how many bytes are passed over. */
  #skipTo(offset: number): number {
    const from = this.#position
    this.#splitter.reset()
    this.#stdout.seek(offset)
    for (let chunk = this.#stdout.read(); chunk !== undefined; chunk = this.#stdout.read()) {
      const start = chunk.bytes.indexOf(LF) + 1
      this.#position = chunk.end - chunk.bytes.length + start
      if (start === 0) continue
      this.#stdout.seek(this.#position)
      break
    }
    return this.#position - from
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#noteSpoke()
    clearTimeout(this.#retry)
    clearImmediate(this.#again)
    fs.closeSync(this.#stdin)
    this.#stdout.close()
    this.#onClose()
  }

  #push(bytes: Buffer): void {
    // A resolver that calls often but does not read loses replies; they must not fill the host's memory.
    if (this.#closed || this.#queuedBytes > RPC_FRAME_MAX_BYTES) return
    this.#queuedBytes += bytes.length
    this.#queue.push(bytes)
    // The FIFO of a worker that does not read is tried again after a pause, not for every line.
    if (this.#retry === undefined) this.#flush()
  }

  #flush(): void {
    clearTimeout(this.#retry)
    this.#retry = undefined
    for (let next = this.#queue[0]; next !== undefined; next = this.#queue[0]) {
      let written: number
      try {
        written = fs.writeSync(this.#stdin, next)
      } catch (error) {
        if (systemCode(error) === undefined) throw error
        // The FIFO is full, or a system call failed for lack of resources: it is tried again.
        written = 0
      }
      this.#queuedBytes -= written
      if (written === next.length) {
        this.#queue.shift()
        continue
      }
      this.#queue[0] = next.subarray(written)
      this.#retry = setTimeout(() => this.#flush(), RETRY_MS).unref()
      return
    }
  }
}
