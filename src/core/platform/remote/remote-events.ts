/** Follows an instance's events over HTTP through any break of the connection: each once, in order. For {@link file://./remote.ts}. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { fail, ResolveError } from '../../errors.ts'
import {
  REMOTE_LOST_MS,
  REMOTE_PATIENCE_MS,
  REMOTE_RECONNECT_MAX_MS,
  REMOTE_RECONNECT_MIN_MS,
  REMOTE_SILENCE_LIMIT_MS,
  RPC_FRAME_MAX_BYTES,
} from '../../limits.ts'
import { DONE_MARKER, type EventEnvelope } from '../../protocol/event.ts'
import type { JournalEvent } from '../../protocol/journal.ts'
import type { Connection, FollowOptions } from '../platform.ts'
import type { Answer, RemoteHttp } from './remote-http.ts'
import { isSilent } from './remote-trouble.ts'

/**
 * Like `platform.events`: without `follow` up to now, with it until the instance has ended or the signal fires. After a break
 * it resumes after the last event that it yielded. Throws `server_unreachable` after a minute without success,
 * `server_strange` where an event is missing.
 */
export async function* followRemote(
  http: RemoteHttp,
  id: string,
  options: FollowOptions,
): AsyncGenerator<JournalEvent> {
  const waitLimit = new WaitLimit(http, options.onConnection)
  try {
    yield* followed(http, id, options, waitLimit)
  } finally {
    waitLimit.end()
  }
}

async function* followed(
  http: RemoteHttp,
  id: string,
  { after = 0, follow = false, signal }: FollowOptions,
  waitLimit: WaitLimit,
): AsyncGenerator<JournalEvent> {
  let last = after
  let isResumed = false
  while (!signal?.aborted) {
    let answer: Answer | undefined
    try {
      answer = await http.tryOnce('getInstanceEvents', {
        params: { id },
        query: {
          follow: follow ? 'true' : 'false',
          ...(isResumed || last === 0 ? {} : { after: String(last) }),
        },
        headers: { accept: 'text/event-stream', ...(isResumed && last > 0 ? { 'last-event-id': String(last) } : {}) },
        limitMs: waitLimit.limitMs(),
        ...(signal === undefined ? {} : { signal }),
      })
      for await (const messages of messagesOf(http, answer)) {
        waitLimit.heard()
        for (const message of messages) {
          const event = eventOf(http, message)
          if (event === 'done') return
          if (event.seq <= last) continue
          if (event.seq !== last + 1) throw http.strange(`event ${event.seq} comes after event ${last}`)
          last = event.seq
          isResumed = true
          if (event.seq > after) yield event
          if (signal?.aborted) return
        }
      }
      // The stream ended completely. Without `follow`, these were all events up to now.
      if (!follow) return
    } catch (error) {
      if (signal?.aborted) return
      if (isBeyondEnd(error) && !isResumed && last > 0) {
        // As on this machine: a number that the journal has not reached yet is waited for.
        last = 0
        continue
      }
      if (!http.isPassing(error) && !isSilent(error) && !isCrowded(error)) throw http.trouble(error)
      waitLimit.broke(http.trouble(error))
    } finally {
      answer?.body.destroy()
    }
    await waitLimit.wait(signal)
  }
}

function isBeyondEnd(error: unknown): boolean {
  return error instanceof ResolveError && error.code === 'cursor_unknown'
}

function isCrowded(error: unknown): boolean {
  return error instanceof ResolveError && error.code === 'too_many'
}

/** Decides how long to wait before each try, when to report the connection as lost, and when to give up. */
class WaitLimit {
  readonly #http: RemoteHttp
  readonly #limitMs: number
  readonly #report: (connection: Connection) => void
  #failingSince: number | undefined
  #why: ResolveError | undefined
  #pauseMs = REMOTE_RECONNECT_MIN_MS
  #reportTimer: NodeJS.Timeout | undefined
  #isReported = false

  constructor(http: RemoteHttp, tell: (connection: Connection) => void = () => {}) {
    this.#http = http
    this.#limitMs = http.waitLimitMs ?? REMOTE_PATIENCE_MS
    this.#report = tell
  }

  heard(): void {
    const since = this.#failingSince
    if (this.#isReported && since !== undefined) this.#report({ state: 'back', since })
    this.end()
    this.#isReported = false
    this.#failingSince = undefined
    this.#why = undefined
    this.#pauseMs = REMOTE_RECONNECT_MIN_MS
  }

  broke(why: ResolveError): void {
    this.#why = why
  }

  /** The limit of the next try: no longer than the rest of the wait limit. */
  limitMs(): number {
    if (this.#failingSince === undefined) return REMOTE_SILENCE_LIMIT_MS
    const left = this.#failingSince + this.#limitMs - Date.now()
    return Math.max(REMOTE_LOST_MS, Math.min(REMOTE_SILENCE_LIMIT_MS, left))
  }

  async wait(signal: AbortSignal | undefined): Promise<void> {
    const now = Date.now()
    this.#failingSince ??= now
    const givesUpAt = this.#failingSince + this.#limitMs
    if (now >= givesUpAt) throw this.#givenUp()
    this.#reportSoon(this.#failingSince, givesUpAt)
    const pauseMs = Math.min(this.#pauseMs, givesUpAt - now)
    this.#pauseMs = Math.min(REMOTE_RECONNECT_MAX_MS, this.#pauseMs * 2)
    await sleep(pauseMs, undefined, signal === undefined ? {} : { signal }).catch(() => undefined)
  }

  end(): void {
    clearTimeout(this.#reportTimer)
    this.#reportTimer = undefined
  }

  /** A connection that returns at once is not reported as lost. */
  #reportSoon(since: number, givesUpAt: number): void {
    // A reader with too many open streams gets an error from a server that is up.
    if (this.#isReported || isCrowded(this.#why)) return
    this.#reportTimer ??= setTimeout(() => {
      this.#isReported = true
      this.#report({ state: 'lost', since, givesUpAt })
    }, REMOTE_LOST_MS)
  }

  #givenUp(): ResolveError {
    const why = this.#why
    if (why !== undefined && why.code !== 'shutting_down') return why
    const reason = why === undefined ? 'its events are cut short again and again' : 'it is shutting down'
    return fail('server_unreachable', { url: this.#http.shown, reason })
  }
}

/** The messages that each chunk of the body completes; none for a heartbeat. */
async function* messagesOf(http: RemoteHttp, { body, headers }: Answer): AsyncGenerator<EventSourceMessage[]> {
  if (!String(headers['content-type'] ?? '').startsWith('text/event-stream')) {
    throw http.strange('the response to an events request is not an event stream')
  }
  // Without either header, the end of the stream looks like a broken connection.
  if (headers['transfer-encoding'] === undefined && headers['content-length'] === undefined) {
    throw http.strange('its event stream has neither a length nor chunked encoding')
  }
  let complete: EventSourceMessage[] = []
  let isTooLong = false
  const parser = createParser({
    onEvent: (message) => complete.push(message),
    onError: (error) => {
      isTooLong ||= error.type === 'max-buffer-size-exceeded'
    },
    maxBufferSize: RPC_FRAME_MAX_BYTES,
  })
  const decoder = new TextDecoder()
  for await (const chunk of body as AsyncIterable<Buffer>) {
    parser.feed(decoder.decode(chunk, { stream: true }))
    if (isTooLong) throw http.strange('an event is too long')
    yield complete
    complete = []
  }
}

function eventOf(http: RemoteHttp, { id, data }: EventSourceMessage): JournalEvent | 'done' {
  const event = parse(data)
  // Readers take event_type, and type where there is none (spec, Events). The marker is no event of the instance: it has no number.
  if (id === undefined && (event?.['event_type'] ?? event?.['type']) === DONE_MARKER) return 'done'
  if (id === undefined || !/^[1-9]\d{0,14}$/.test(id) || !isEnvelope(event)) {
    throw http.strange('it sent an invalid event')
  }
  return { seq: Number(id), sourceEnd: null, text: data, event }
}

function isEnvelope(value: Record<string, unknown> | undefined): value is Record<string, unknown> & EventEnvelope {
  if (value === undefined || typeof value['event_type'] !== 'string' || typeof value['timestamp'] !== 'string')
    return false
  return typeof value['data'] === 'object' && value['data'] !== null
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
