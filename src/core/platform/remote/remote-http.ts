/**
 * Requests to a resolve server, over TCP or a unix socket: sent again where the connection broke, their answers bounded and
 * checked, every trouble an error of the catalogue. Loaded by {@link file://./remote.ts} with its first request.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, type Dispatcher } from 'undici'
import { fail, ResolveError, received } from '../../errors.ts'
import {
  REMOTE_ANSWER_LIMIT_MS,
  REMOTE_ANSWER_MAX_BYTES,
  REMOTE_CONNECT_LIMIT_MS,
  REMOTE_RETRY_MS,
  REMOTE_SILENCE_LIMIT_MS,
} from '../../limits.ts'
import { ACTOR, DOOR, IDEMPOTENCY_KEY } from '../../protocol/http.ts'
import type { Actor } from '../../protocol/instance.ts'
import type { RemoteAddress } from './remote-address.ts'
import { isAbsent, isBroken, trouble } from './remote-trouble.ts'

export interface Ask {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Below /api, each part already encoded. */
  path: string
  query?: Record<string, string | undefined>
  body?: unknown
  /** An act: it has a key, so that asked again it happens once (R11). */
  act?: { actor?: Actor }
  headers?: Record<string, string>
  /** Until the answer begins. */
  limitMs?: number
  signal?: AbortSignal
  /** Told before the request is sent again: whether the first one was heard is unknown. */
  onRetry?: () => void
}

export type Answer = Dispatcher.ResponseData

/** What an answer must be; undefined where it is something else. */
export type Shape<T> = (value: unknown) => T | undefined

export class RemoteHttp {
  readonly #address: RemoteAddress
  readonly #agent: Agent
  #wasReached = false

  constructor(address: RemoteAddress) {
    this.#address = address
    const socket = address.socket === undefined ? {} : { socketPath: address.socket }
    this.#agent = new Agent({ allowH2: false, connect: { timeout: REMOTE_CONNECT_LIMIT_MS, ...socket } })
  }

  get shown(): string {
    return this.#address.shown
  }

  /** How long a stream of events that broke is tried again; undefined: the usual time. */
  get waitLimitMs(): number | undefined {
    return this.#address.waitLimitMs
  }

  async json<T>(ask: Ask, shape: Shape<T>): Promise<T> {
    return (await this.jsonAndHeaders(ask, shape)).value
  }

  async jsonAndHeaders<T>(ask: Ask, shape: Shape<T>): Promise<{ value: T; headers: Answer['headers'] }> {
    return await this.#persist(ask, async (answer) => {
      const value = shape(parse(await this.#read(answer)))
      if (value === undefined) throw this.strange(`its answer to ${nameOf(ask)} is not what it should be`)
      return { value, headers: answer.headers }
    })
  }

  async text(ask: Ask): Promise<string> {
    return await this.#persist(ask, async (answer) => (await this.#read(answer)).toString())
  }

  /** For an answer without a body worth reading. */
  async done(ask: Ask): Promise<void> {
    await this.#persist(ask, async (answer) => void (await this.#read(answer)))
  }

  /** An answer whose body the caller reads, by {@link bytesOf}; it can't end early unnoticed. */
  async open(ask: Ask): Promise<Answer> {
    return await this.#persist(ask, async (answer) => {
      const { headers } = answer
      if (headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined) return answer
      answer.body.destroy()
      throw this.strange(`its answer to ${nameOf(ask)} does not say where it ends`)
    })
  }

  /** One try, for a caller with a wait limit of its own. Throws `ResolveError`s and, where there was no answer, what undici throws. */
  async tryOnce(ask: Ask): Promise<Answer> {
    return await this.#send(ask, undefined)
  }

  /** The bytes of a body; throws where it ends before its length. */
  async *bytesOf({ body, headers }: Answer): AsyncGenerator<Buffer> {
    const wanted = headers['content-length'] === undefined ? undefined : Number(headers['content-length'])
    let got = 0
    try {
      for await (const chunk of body as AsyncIterable<Buffer>) {
        got += chunk.length
        yield chunk
      }
    } catch (error) {
      throw this.trouble(error)
    } finally {
      body.destroy()
    }
    if (wanted === undefined || got === wanted) return
    throw fail('server_unreachable', {
      url: this.shown,
      reason: `the connection broke after ${got} of ${wanted} bytes`,
    })
  }

  strange(problem: string): ResolveError {
    return fail('server_strange', { url: this.shown, problem })
  }

  trouble(error: unknown): ResolveError {
    return trouble(error, this.shown)
  }

  /** Whether a later try may find what this one did not: an address nobody ever answered at is wrong. */
  isPassing(error: unknown): boolean {
    if (error instanceof ResolveError) return error.code === 'shutting_down'
    // A host of this machine is gone exactly when its socket refuses.
    return isBroken(error) || (isAbsent(error) && this.#wasReached && this.#address.socket === undefined)
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }

  async #persist<T>(ask: Ask, read: (answer: Answer) => Promise<T>): Promise<T> {
    const key = ask.act === undefined ? undefined : (this.#actorOf(ask)?.key ?? randomUUID())
    for (let tries = 0; ; tries += 1) {
      try {
        return await read(await this.#send(ask, key))
      } catch (error) {
        const pauseMs = REMOTE_RETRY_MS[tries]
        if (pauseMs === undefined || !this.isPassing(error)) throw this.trouble(error)
        await sleep(pauseMs)
        ask.onRetry?.()
      }
    }
  }

  async #send(ask: Ask, key: string | undefined): Promise<Answer> {
    const answer = await this.#agent.request({
      origin: this.#address.origin,
      path: `${this.#address.base}${ask.path}${queryOf(ask.query)}`,
      method: ask.method ?? 'GET',
      headers: this.#headers(ask, key),
      body: ask.body === undefined ? null : JSON.stringify(ask.body),
      headersTimeout: ask.limitMs ?? REMOTE_ANSWER_LIMIT_MS,
      bodyTimeout: REMOTE_SILENCE_LIMIT_MS,
      ...(ask.signal === undefined ? {} : { signal: ask.signal }),
    })
    this.#wasReached = true
    // Whoever reads the body meets its error there; one that nobody reads any more concerns nobody.
    answer.body.on('error', () => {})
    if (answer.statusCode >= 200 && answer.statusCode < 300) return answer
    throw await this.#refusal(ask, answer)
  }

  #headers(ask: Ask, key: string | undefined): Record<string, string> {
    const { token, door, socket } = this.#address
    const actor = this.#actorOf(ask)
    const via = actor?.via ?? door
    const name = actor?.actor
    return {
      accept: 'application/json',
      ...(ask.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(key === undefined ? {} : { [IDEMPOTENCY_KEY]: key }),
      ...(via === 'cli' || via === 'page' ? { [DOOR]: via } : {}),
      ...(socket === undefined || name === undefined ? {} : { [ACTOR]: encodeURIComponent(name) }),
      ...ask.headers,
    }
  }

  #actorOf(ask: Ask): Actor | undefined {
    return ask.act === undefined ? undefined : (ask.act.actor ?? this.#address.actor)
  }

  async #refusal(ask: Ask, answer: Answer): Promise<ResolveError> {
    const { statusCode: status } = answer
    const told = received(parse(await this.#read(answer)))
    if (told?.code === 'route_unknown') return this.strange(`it does not know ${nameOf(ask)}`)
    if (told !== undefined) return told
    // Somebody in between (a proxy) may refuse, too, or stand before a server that is down.
    if (status === 401) return refused('token_refused', `${this.shown} asks for another token.`)
    if (status === 403) return refused('token_refused', `${this.shown} refuses this token.`)
    if (status === 502 || status === 503 || status === 504) {
      return refused('shutting_down', `${this.shown} is not there now (${status}).`)
    }
    const { location } = answer.headers
    return this.strange(
      location === undefined ? `it answers ${nameOf(ask)} with ${status}` : `it sends to ${String(location)}`,
    )
  }

  async #read({ body }: Answer): Promise<Buffer> {
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      bytes += chunk.length
      // Leaving the loop ends the connection.
      if (bytes > REMOTE_ANSWER_MAX_BYTES) throw this.strange('its answer has no end')
    }
    return Buffer.concat(chunks)
  }
}

function refused(code: 'token_refused' | 'shutting_down', detail: string): ResolveError {
  return received({ detail, code }) as ResolveError
}

function nameOf(ask: Ask): string {
  return `${ask.method ?? 'GET'} /api${ask.path}`
}

function queryOf(query: Ask['query']): string {
  const given = Object.entries(query ?? {}).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString()) as unknown
  } catch {
    return undefined
  }
}
