/**
 * Follows the events of an instance with `fetch`, so that the token is sent in a header. Reads a long history in compressed pages, then a
 * stream; reconnects after the last event number until the instance has ended. Delivers events in batches, at most one per animation frame.
 */
import { createParser } from 'eventsource-parser'
import { backoffMs } from '../../core/primitives/backoff.ts'
import { isObject } from '../../core/primitives/is-object.ts'
import type { EventEnvelope } from '../../core/protocol/event.ts'
import { DONE_MARKER } from '../../core/protocol/event.ts'
import { isStatus, isTerminal } from '../../core/protocol/status.ts'
import { ask } from '../api/client.ts'
import { Problem } from '../api/problem.ts'
import type { Connection } from './connection.ts'
import { FrameBatch } from './frame-batch.ts'
import { takeSlot } from './stream-slots.ts'
import { isLongHidden, untilShown } from './visibility.ts'

export interface NumberedEvent {
  seq: number
  event: EventEnvelope
}

export interface Follower {
  onEvents(events: readonly NumberedEvent[]): void
  onConnection(connection: Connection): void
  /** The bytes of the transcripts of running LLM sessions, when one has grown. */
  onTranscripts(bytes: Readonly<Record<string, number>>): void
  /** Called after each poll where there is no stream. */
  onLook(): void
  /** Called if the instance cannot be followed: it is unknown, or the token does not allow it. */
  onProblem(problem: Problem): void
}

/** What is known before the first request. */
export interface Known {
  /** The number of the last event of the snapshot. */
  last: number
  /** Whether the instance had ended then. */
  isOver: boolean
  /** All its events, where the browser has kept them: nothing is asked of the server. */
  kept?: readonly EventEnvelope[]
}

/** Events of one page of history. */
const HISTORY_PAGE = 5_000
/** A shorter history of a run that goes on comes with its stream: one request less. */
const HISTORY_MIN = 500
/** Without data for three heartbeats, the connection counts as lost. */
const SILENCE_MS = 45_000
const POLL_MS = 1_000
const TRANSCRIPTS = 'transcripts'
const RETRY_MIN_MS = 250
const RETRY_MAX_MS = 5_000
/** After this time without a connection, the state is "offline". */
const OFFLINE_AFTER_FAILURES = 3

/** Returns the function that stops following. */
export function followEvents(id: string, known: Known, follower: Follower): () => void {
  const following = new Following(id, known, follower)
  void following.run()
  return () => following.stop()
}

class Following {
  readonly #id: string
  readonly #follower: Follower
  readonly #batch: FrameBatch<NumberedEvent>
  readonly #stopped = new AbortController()
  #lastSeq = 0
  #failures = 0
  /** Whether a final status was received. A poll gets no end marker; a stream gets one immediately. */
  #isFinal = false
  #hasEnded = false
  #said: Connection | undefined
  readonly #kept: readonly EventEnvelope[]
  /** The history is read in pages up to this number. */
  #historyEnd: number

  constructor(id: string, { last, isOver, kept = [] }: Known, follower: Follower) {
    this.#id = id
    this.#kept = kept
    this.#historyEnd = isOver || last > HISTORY_MIN ? last : 0
    this.#follower = follower
    this.#batch = new FrameBatch((events) => follower.onEvents(events))
  }

  stop(): void {
    this.#stopped.abort()
    this.#batch.close()
  }

  async run(): Promise<void> {
    const { signal } = this.#stopped
    this.#say('connecting')
    this.#takeKept()
    while (!signal.aborted && !this.#hasEnded) {
      if (isLongHidden()) {
        await untilShown(signal)
        this.#say('connecting')
      }
      const isHistory = this.#lastSeq < this.#historyEnd
      const slot = isHistory ? undefined : await takeSlot()
      try {
        if (signal.aborted) return
        if (isHistory) await this.#readHistory()
        else await this.#read(slot !== undefined || this.#isFinal ? 'stream' : 'poll')
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof Problem && isFinal(error)) return this.#follower.onProblem(error)
        this.#failures += 1
      } finally {
        slot?.release()
      }
      if (this.#hasEnded || signal.aborted) break
      if (isHistory && this.#failures === 0) continue
      if (this.#failures > 0) this.#say(this.#failures > OFFLINE_AFTER_FAILURES ? 'offline' : 'reconnecting')
      await sleep(slot === undefined && this.#failures === 0 ? POLL_MS : this.#pause(), signal)
    }
    if (this.#hasEnded) this.#batch.whenEmpty(() => this.#say('ended'))
  }

  #takeKept(): void {
    this.#kept.forEach((event, index) => {
      this.#batch.add({ seq: index + 1, event })
    })
    if (this.#kept.length === 0) return
    this.#lastSeq = this.#kept.length
    this.#hasEnded = true
  }

  async #readHistory(): Promise<void> {
    const before = this.#lastSeq
    await this.#read('history')
    // The server has less than its snapshot told: the stream says why.
    if (this.#lastSeq === before) this.#historyEnd = 0
    // The event of a final status is the last one.
    if (this.#isFinal) this.#hasEnded = true
  }

  /** Reads one connection to its end. Without a stream slot, it reads the existing events only. */
  async #read(mode: 'history' | 'poll' | 'stream'): Promise<void> {
    const holds = mode === 'stream'
    const once = new AbortController()
    const signal = AbortSignal.any([this.#stopped.signal, once.signal])
    let silence = setTimeout(() => once.abort(), SILENCE_MS)
    const onHide = setInterval(() => isLongHidden() && once.abort(), 1_000)
    try {
      const after = String(this.#lastSeq)
      const query = {
        after,
        ...(holds ? { transcripts: 'true' as const } : { follow: 'false' as const }),
        ...(mode === 'history' ? { limit: HISTORY_PAGE } : {}),
      }
      const response = await ask('getInstanceEvents', { params: { id: this.#id }, query, signal })
      this.#failures = 0
      this.#say('live')
      const parser = createParser({
        onEvent: ({ event, id, data }) => (event === TRANSCRIPTS ? this.#tell(data) : this.#take(id, data)),
      })
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
      for (;;) {
        const piece = await reader?.read()
        if (piece === undefined || piece.done) break
        clearTimeout(silence)
        silence = setTimeout(() => once.abort(), SILENCE_MS)
        parser.feed(piece.value)
      }
      if (mode === 'poll') this.#follower.onLook()
      // A stream that ends before the instance was interrupted; a poll always ends.
      if (holds && !this.#hasEnded) this.#failures = 1
    } catch (error) {
      if (once.signal.aborted && isLongHidden()) return
      throw error
    } finally {
      clearTimeout(silence)
      clearInterval(onHide)
    }
  }

  #tell(data: string): void {
    const told: unknown = JSON.parse(data)
    if (isObject(told)) this.#follower.onTranscripts(told as Record<string, number>)
  }

  #take(id: string | undefined, data: string): void {
    const value = JSON.parse(data) as EventEnvelope & { type?: string }
    if (id === undefined && (value.event_type ?? value.type) === DONE_MARKER) {
      this.#hasEnded = true
      return
    }
    const seq = Number(id)
    // Ignores events that were received before.
    if (!Number.isInteger(seq) || seq <= this.#lastSeq) return
    this.#lastSeq = seq
    if (value.event_type === 'platform.instance.status_changed') this.#isFinal = isFinalStatus(value.data['to'])
    this.#batch.add({ seq, event: value })
  }

  #pause(): number {
    const longest = backoffMs(this.#failures, RETRY_MIN_MS, RETRY_MAX_MS)
    return longest / 2 + (Math.random() * longest) / 2
  }

  #say(connection: Connection): void {
    if (this.#said === connection) return
    this.#said = connection
    this.#follower.onConnection(connection)
  }
}

function isFinalStatus(status: unknown): boolean {
  return isStatus(status) && isTerminal(status)
}

/** Whether a retry cannot succeed. */
function isFinal({ status }: Problem): boolean {
  return status === 401 || status === 403 || status === 404 || status === 400
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
