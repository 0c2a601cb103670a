/** Follows an instance's events over HTTP through any break of the connection: each once, in order. For {@link file://./remote.ts}. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { fail, ResolveError } from '../errors.ts'
import {
  REMOTE_PATIENCE_MS,
  REMOTE_RECONNECT_MAX_MS,
  REMOTE_RECONNECT_MIN_MS,
  REMOTE_SILENCE_LIMIT_MS,
  RPC_FRAME_MAX_BYTES,
} from '../limits.ts'
import { DONE_MARKER, type EventEnvelope } from '../protocol/event.ts'
import type { JournalEvent } from '../protocol/journal.ts'
import type { FollowOptions } from './platform.ts'
import type { Answer, RemoteHttp } from './remote-http.ts'
import { isSilent } from './remote-trouble.ts'

/**
 * As `platform.events`: without `follow` up to now, with it until the instance has ended or the signal fires. Resumes after the
 * last event it gave. Throws `server_unreachable` after a minute without success, `server_strange` where an event is missing.
 */
export async function* followRemote(
  http: RemoteHttp,
  id: string,
  options: FollowOptions,
): AsyncGenerator<JournalEvent> {
  const { after = 0, follow = false, signal } = options
  const patience = new Patience(http)
  let last = after
  let isResumed = false
  while (!signal?.aborted) {
    let answer: Answer | undefined
    try {
      answer = await http.tryOnce({
        path: `/instances/${encodeURIComponent(id)}/events`,
        query: { follow: String(follow), after: isResumed || last === 0 ? undefined : String(last) },
        headers: { accept: 'text/event-stream', ...(isResumed && last > 0 ? { 'last-event-id': String(last) } : {}) },
        limitMs: REMOTE_SILENCE_LIMIT_MS,
        ...(signal === undefined ? {} : { signal }),
      })
      for await (const messages of messagesOf(http, answer)) {
        patience.heard()
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
      // It ended whole: that is all there is up to now. Who follows is told when nothing more comes.
      if (!follow) return
    } catch (error) {
      if (signal?.aborted) return
      if (isBeyondEnd(error) && !isResumed && last > 0) {
        // As on this machine, where a number that is not reached yet is waited for.
        last = 0
        continue
      }
      if (!http.isPassing(error) && !isSilent(error) && !isCrowded(error)) throw http.trouble(error)
      patience.broke(http.trouble(error))
    } finally {
      answer?.body.destroy()
    }
    await patience.wait(signal)
  }
}

function isBeyondEnd(error: unknown): boolean {
  return error instanceof ResolveError && error.code === 'cursor_unknown'
}

function isCrowded(error: unknown): boolean {
  return error instanceof ResolveError && error.code === 'too_many'
}

/** How long to wait before each try, and when to give up. */
class Patience {
  readonly #http: RemoteHttp
  readonly #limitMs: number
  #failingSince: number | undefined
  #why: ResolveError | undefined
  #pauseMs = REMOTE_RECONNECT_MIN_MS

  constructor(http: RemoteHttp) {
    this.#http = http
    this.#limitMs = http.patienceMs ?? REMOTE_PATIENCE_MS
  }

  heard(): void {
    this.#failingSince = undefined
    this.#why = undefined
    this.#pauseMs = REMOTE_RECONNECT_MIN_MS
  }

  broke(why: ResolveError): void {
    this.#why = why
  }

  async wait(signal: AbortSignal | undefined): Promise<void> {
    const now = Date.now()
    this.#failingSince ??= now
    if (now - this.#failingSince > this.#limitMs) throw this.#why ?? this.#cutShort()
    const pauseMs = this.#pauseMs
    this.#pauseMs = Math.min(REMOTE_RECONNECT_MAX_MS, pauseMs * 2)
    await sleep(pauseMs, undefined, signal === undefined ? {} : { signal }).catch(() => undefined)
  }

  #cutShort(): ResolveError {
    return fail('server_unreachable', { url: this.#http.shown, reason: 'its events are cut short again and again' })
  }
}

/** What each piece of the body completes; empty for a heartbeat. */
async function* messagesOf(http: RemoteHttp, { body, headers }: Answer): AsyncGenerator<EventSourceMessage[]> {
  if (!String(headers['content-type'] ?? '').startsWith('text/event-stream')) {
    throw http.strange('it sends no events where they should be')
  }
  // Without either its end is the end of the connection, and a cut is no different.
  if (headers['transfer-encoding'] === undefined && headers['content-length'] === undefined) {
    throw http.strange('its events do not say where they end')
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
    if (isTooLong) throw http.strange('an event has no end')
    yield complete
    complete = []
  }
}

function eventOf(http: RemoteHttp, { id, data }: EventSourceMessage): JournalEvent | 'done' {
  const event = parse(data)
  if (id === undefined && event?.['type'] === DONE_MARKER) return 'done'
  if (id === undefined || !/^[1-9]\d{0,14}$/.test(id) || !isEnvelope(event)) {
    throw http.strange('what it sends as an event is none')
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
