/**
 * What a running container prints, for a host that takes it over: first what the engine's log has and gets, then what the engine passes on.
 * An attach that asks for both loses or doubles what is printed between the end of the log and the begin of the stream. Here both are read,
 * and the stream takes over in a moment in which both have ended with the same whole lines. {@link file://./../docker/docker-worker.ts} uses it.
 */
import type { Duplex, Readable } from 'node:stream'
import { Demux, type Piece } from './demux.ts'

type Take = (stream: Piece['stream'], bytes: Buffer) => void

/** So long both are silent before the stream takes over. */
const QUIET_MS = 1_000
const LOOK_MS = 200
/** The log may still hold the last output of a container whose stream has ended. */
const LAST_LINES_MS = 2_000
const TAIL_BYTES = 4_096
const LF = 0x0a

type Tails = Record<Piece['stream'], Buffer>

export class ContainerOutput {
  /** Resolves when there will be no more output of this connection. */
  readonly over: Promise<void>
  readonly #live: Duplex
  #log: Readable | undefined
  readonly #logTails: Tails = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) }
  readonly #liveTails: Tails = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) }
  #lastAt = performance.now()
  #looking: NodeJS.Timeout | undefined

  /** Without a log, the stream has all of the output. Reads without a pause: an attach that is not drained blocks the worker (threats D6). */
  constructor(live: Duplex, log: Readable | undefined, takeLive: Take, takeLog: Take) {
    this.#live = live
    this.#log = log
    const { promise, resolve } = Promise.withResolvers<void>()
    this.over = promise
    live.on(
      'data',
      this.#reader(this.#liveTails, (...piece) => this.#log === undefined && takeLive(...piece)),
    )
    onEnd(live, () => {
      if (this.#log === undefined) resolve()
      else setTimeout(() => this.#log?.destroy(), LAST_LINES_MS).unref()
    })
    if (log === undefined) return
    log.on(
      'data',
      this.#reader(this.#logTails, (...piece) => this.#log === log && takeLog(...piece)),
    )
    onEnd(log, () => {
      if (this.#log !== log) return
      this.destroy()
      resolve()
    })
    this.#looking = setInterval(() => this.#look(), LOOK_MS)
    this.#looking.unref()
  }

  destroy(): void {
    clearInterval(this.#looking)
    this.#live.destroy()
    this.#log?.destroy()
  }

  #reader(tails: Tails, take: Take): (chunk: Buffer) => void {
    const demux = new Demux()
    return (chunk) => {
      this.#lastAt = performance.now()
      for (const { stream, bytes } of demux.push(chunk)) {
        if (this.#log !== undefined) tails[stream] = endOf(tails[stream], bytes)
        take(stream, bytes)
      }
    }
  }

  #look(): void {
    if (performance.now() - this.#lastAt < QUIET_MS || this.#live.destroyed) return
    if (!this.#isSame('stdout') || !this.#isSame('stderr')) return
    const log = this.#log
    this.#log = undefined
    clearInterval(this.#looking)
    log?.destroy()
  }

  /** Half a line is passed on at once, and logged when it is whole. */
  #isSame(stream: Piece['stream']): boolean {
    const [log, live] = [this.#logTails[stream], this.#liveTails[stream]]
    if ([log, live].some((tail) => tail.length > 0 && tail.at(-1) !== LF)) return false
    return log.length >= live.length
      ? log.subarray(log.length - live.length).equals(live)
      : log.length > 0 && live.subarray(live.length - log.length).equals(log)
  }
}

function endOf(tail: Buffer, bytes: Buffer): Buffer {
  const whole = bytes.length >= TAIL_BYTES ? bytes : Buffer.concat([tail, bytes])
  // A copy, because the caller may reuse its buffer.
  return Buffer.from(whole.subarray(-TAIL_BYTES))
}

function onEnd(stream: Readable, listener: () => void): void {
  let isEnded = false
  for (const event of ['end', 'close', 'error'])
    stream.on(event, () => {
      if (!isEnded) listener()
      isEnded = true
    })
}
