/**
 * The open event streams. Each is written only as fast as its socket accepts, holds at most one piece in memory, and ends
 * when its reader stalls (R15, threats WEB-11). The events route opens them.
 */
import type { ServerResponse } from 'node:http'
import { performance } from 'node:perf_hooks'
import type { Writable } from 'node:stream'
import { createGzip } from 'node:zlib'
import { fail } from '../../core/errors.ts'
import type { HeldFeed } from '../../core/index.ts'
import { SSE_BUFFER_MAX_BYTES, SSE_HEARTBEAT_MS, SSE_READERS_PER_TOKEN, SSE_STALL_LIMIT_MS } from '../../core/limits.ts'

export interface StreamLimits {
  heartbeatMs: number
  bufferMaxBytes: number
  stallLimitMs: number
  readersPerToken: number
}

const LIMITS: StreamLimits = {
  heartbeatMs: SSE_HEARTBEAT_MS,
  bufferMaxBytes: SSE_BUFFER_MAX_BYTES,
  stallLimitMs: SSE_STALL_LIMIT_MS,
  readersPerToken: SSE_READERS_PER_TOKEN,
}

/** When a disconnected reader shall reconnect. */
const RETRY_MS = 1_000
/**
 * The most that a socket gets in one write. A longer page is drained piece by piece, so that a slow reader is not mistaken
 * for a stalled one.
 */
const PIECE_BYTES = 64 * 1024
/**
 * Pieces per turn of the event loop: replaying a long journal does not block other readers. A fast reader drains within a turn; one
 * piece per turn would make its replay a quarter slower.
 */
const PIECES_PER_TURN = 6
/** How long a stream that the server ends has to drain. */
const FAREWELL_MS = 1_000

const HEARTBEAT = ': heartbeat\n\n'
const DONE = 'data: {"type":"done"}\n\n'

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
  // A stream has its own connection, which serves no further request.
  connection: 'close',
}

export interface StreamRequest extends HeldFeed {
  /** The offset in the journal at which it begins. */
  offset: number
  /** Whether it goes on until the instance ends, and then sends `done`. */
  follow: boolean
  /** How many events it sends at most; then it ends without `done`. Default: all. */
  limit?: number
  /** Whether it is compressed, for a reader that takes gzip and does not follow. Default: no. */
  isZipped?: boolean
  /** The id of the reader's token; null has no limit. */
  tokenId: string | null
  /** Whether the token is still valid; called with every heartbeat. Default: always. */
  mayStay?: () => boolean
  /** A frame without an id, sent between events when it has changed; called about once a second. */
  news?: () => Promise<string | undefined>
  /** Called with the reason when the server ends a stream. */
  onBreak?: (error: unknown) => void
}

export class EventStreams {
  readonly #limits: StreamLimits
  readonly #open = new Set<Stream>()
  readonly #readers = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined
  #sent = 0

  constructor(limits: Partial<StreamLimits> = {}) {
    this.#limits = { ...LIMITS, ...limits }
  }

  /** The number of open streams. */
  get size(): number {
    return this.#open.size
  }

  /** The number of events sent to readers so far. */
  get sent(): number {
    return this.#sent
  }

  /** Throws `too_many` where a token has the most readers it may have. */
  admit(tokenId: string | null): void {
    const limit = this.#limits.readersPerToken
    if (tokenId !== null && (this.#readers.get(tokenId) ?? 0) >= limit) {
      throw fail('too_many', { what: 'event streams of one token', limit })
    }
  }

  /**
   * Answers a request with a stream. It ends by itself, with its reader, or with {@link close}, and then releases the feed.
   * Errors are thrown before the answer begins.
   */
  open(response: ServerResponse, request: StreamRequest, headers: Record<string, string> = {}): void {
    const { tokenId } = request
    this.#count(tokenId, 1)
    const onSent = (events: number) => {
      this.#sent += events
    }
    const stream = new Stream(response, request, this.#limits, onSent, () => {
      this.#open.delete(stream)
      this.#count(tokenId, -1)
      request.release()
      if (this.#open.size > 0) return
      clearInterval(this.#timer)
      this.#timer = undefined
    })
    this.#open.add(stream)
    this.#timer ??= setInterval(() => this.#look(), this.#lookEveryMs()).unref()
    try {
      stream.start({ ...headers, ...HEADERS })
    } catch (error) {
      stream.leave()
      throw error
    }
  }

  /** Ends every stream without `done`: its reader may continue from the same place, at another server or later. */
  close(): void {
    for (const stream of [...this.#open]) stream.end(undefined, FAREWELL_MS)
  }

  #look(): void {
    const now = performance.now()
    for (const stream of [...this.#open]) stream.look(now)
  }

  #lookEveryMs(): number {
    return Math.max(10, Math.min(1_000, this.#limits.heartbeatMs / 4, this.#limits.stallLimitMs / 4))
  }

  #count(tokenId: string | null, change: number): void {
    if (tokenId === null) return
    const readers = (this.#readers.get(tokenId) ?? 0) + change
    if (readers === 0) this.#readers.delete(tokenId)
    else this.#readers.set(tokenId, readers)
  }
}

/** One reader: its offset in the journal, and the part of the last page that its socket has not got yet. */
class Stream {
  readonly #response: ServerResponse
  /** Where frames are written: the response, or the compressor before it. */
  readonly #sink: Writable
  readonly #request: StreamRequest
  readonly #limits: StreamLimits
  readonly #onSent: (events: number) => void
  readonly #onGone: () => void
  #offset: number
  #left: number
  #rest: Buffer | undefined
  #isLast = false
  #waitsSince: number | undefined
  #nextHeartbeat: number
  #turn: NodeJS.Immediate | undefined
  /** How many pieces were written since a turn of the event loop was awaited. */
  #pieces = 0
  #stopFollowing: () => void = () => {}
  #isOver = false
  #isLooking = false
  #toldNews: string | undefined

  constructor(
    response: ServerResponse,
    request: StreamRequest,
    limits: StreamLimits,
    onSent: (events: number) => void,
    onGone: () => void,
  ) {
    this.#response = response
    this.#request = request
    this.#limits = limits
    this.#onSent = onSent
    this.#onGone = onGone
    this.#sink = request.isZipped === true ? createGzip() : response
    this.#offset = request.offset
    this.#left = request.limit ?? Number.POSITIVE_INFINITY
    this.#nextHeartbeat = performance.now() + limits.heartbeatMs
  }

  start(headers: Record<string, string>): void {
    const response = this.#response
    const sink = this.#sink
    response.on('close', () => {
      this.leave()
      if (sink !== response) sink.destroy()
    })
    response.on('error', () => response.destroy())
    if (sink !== response) {
      sink.on('error', () => response.destroy())
      sink.pipe(response)
    }
    sink.on('drain', () => {
      this.#waitsSince = undefined
      this.#pump()
    })
    if (this.#request.follow) this.#stopFollowing = this.#request.feed.follow(() => this.#pump())
    if (response.destroyed) {
      this.leave()
      return
    }
    const coding = sink === response ? {} : { 'content-encoding': 'gzip' }
    response.writeHead(200, { ...headers, vary: 'accept-encoding', ...coding })
    this.#hand(`retry: ${RETRY_MS}\n\n`)
    this.#pump()
  }

  /** Called regularly: sends a heartbeat that is due, or ends the stream of a reader that accepts nothing. */
  look(now: number): void {
    if (this.#waitsSince !== undefined) {
      const waits = now - this.#waitsSince
      const holdsTooMuch = this.#response.writableLength > this.#limits.bufferMaxBytes
      if (waits > this.#limits.stallLimitMs || (holdsTooMuch && waits > 0)) this.#response.destroy()
      return
    }
    if (this.#request.news !== undefined && !this.#isLooking) void this.#tellNews(this.#request.news)
    if (now < this.#nextHeartbeat) return
    this.#nextHeartbeat = now + this.#limits.heartbeatMs
    // When the reader comes again, it gets the reason.
    if (this.#request.mayStay?.() === false) this.end(undefined, FAREWELL_MS)
    // Inside an unfinished frame, a comment would become part of the frame.
    else if (this.#rest === undefined) this.#hand(HEARTBEAT)
  }

  async #tellNews(news: () => Promise<string | undefined>): Promise<void> {
    this.#isLooking = true
    try {
      const frame = await news()
      // Inside an unfinished frame it would become part of that frame: the next look tells it.
      const mayTell = !this.#isOver && this.#rest === undefined && this.#waitsSince === undefined
      if (frame === undefined || frame === this.#toldNews || !mayTell) return
      this.#toldNews = frame
      this.#hand(frame)
    } catch (error) {
      this.#request.onBreak?.(error)
      this.#response.destroy()
    } finally {
      this.#isLooking = false
    }
  }

  /** Data in flight still reaches a reader that accepts it within the limit. */
  end(farewell?: string, limitMs = this.#limits.stallLimitMs): void {
    if (this.#isOver) return
    const response = this.#response
    const isWaiting = this.#waitsSince !== undefined
    this.leave()
    if (isWaiting) {
      response.destroy()
      return
    }
    this.#sink.end(farewell)
    const limit = setTimeout(() => response.destroy(), limitMs).unref()
    response.once('close', () => clearTimeout(limit))
  }

  /** Writes available data while the socket accepts it. */
  #pump(): void {
    try {
      while (this.#pieces < PIECES_PER_TURN) {
        if (this.#isOver || this.#waitsSince !== undefined) return
        if (!this.#fetch()) return
        this.#pieces += 1
        this.#handPiece()
      }
    } catch (error) {
      this.#request.onBreak?.(error)
      this.#response.destroy()
      return
    }
    this.#pumpSoon()
  }

  #pumpSoon(): void {
    if (this.#isOver) return
    this.#turn ??= setImmediate(() => {
      this.#turn = undefined
      this.#pieces = 0
      this.#pump()
    })
  }

  /** Whether there is data to write. Ends the stream where the instance has ended and all is sent. */
  #fetch(): boolean {
    if (this.#rest !== undefined) return true
    const { feed, follow } = this.#request
    if (this.#left === 0) {
      this.end()
      return false
    }
    if (this.#isLast) {
      this.end(follow ? DONE : undefined)
      return false
    }
    const page = feed.read(this.#offset)
    if (page === undefined) {
      if (!follow) this.end()
      else if (feed.hasEnded) this.end(DONE)
      return false
    }
    this.#offset = page.next
    this.#isLast = page.isFinal
    const isCut = page.count > this.#left
    const sent = Math.min(page.count, this.#left)
    this.#rest = isCut ? firstFrames(page.frames, sent) : page.frames
    this.#left -= sent
    this.#onSent(sent)
    return true
  }

  #handPiece(): void {
    const rest = this.#rest as Buffer
    const isLonger = rest.length > PIECE_BYTES
    this.#rest = isLonger ? rest.subarray(PIECE_BYTES) : undefined
    this.#hand(isLonger ? rest.subarray(0, PIECE_BYTES) : rest)
  }

  #hand(bytes: Buffer | string): void {
    if (!this.#sink.write(bytes)) this.#waitsSince ??= performance.now()
  }

  /** Releases everything; the last bytes may still be on their way to the reader. */
  leave(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#stopFollowing()
    clearImmediate(this.#turn)
    this.#rest = undefined
    this.#onGone()
  }
}

/** The frames up to this many; an empty line ends each, and no other line of a frame is empty. */
function firstFrames(frames: Buffer, count: number): Buffer {
  let end = 0
  for (let found = 0; found < count; found += 1) end = frames.indexOf('\n\n', end) + 2
  return frames.subarray(0, end)
}
