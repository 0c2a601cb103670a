/**
 * Sends requests to a resolve server, over TCP or a unix socket. It retries broken connections, limits and checks the
 * answers, and turns every failure into an error of the catalogue. {@link file://./remote.ts} loads it with its first
 * request.
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
import { addressOf } from '../../protocol/api/address.ts'
import type { Operation, QueryValues } from '../../protocol/api/operation.ts'
import {
  type JsonOperation,
  OPERATIONS,
  type OperationName,
  type RequestOf,
  type ResultOf,
  resultSchema,
} from '../../protocol/api/operations.ts'
import { ACTOR, API, DOOR, IDEMPOTENCY_KEY } from '../../protocol/http.ts'
import type { Actor } from '../../protocol/instance.ts'
import { misfit } from '../../schema/fits.ts'
import type { RemoteAddress } from './remote-address.ts'
import { isAbsent, isBroken, trouble } from './remote-trouble.ts'

export interface Ask {
  query?: QueryValues
  body?: unknown
  /** A body that is not JSON; its content type is in the table. */
  archive?: Buffer
  /** Set for an action: it gets an idempotency key, so that a retry takes effect only once (R11). */
  act?: { actor?: Actor }
  headers?: Record<string, string>
  /** The limit until the answer begins. */
  limitMs?: number
  signal?: AbortSignal
  /** Called before a retry: it is unknown whether the server got the first request. */
  onRetry?: () => void
}

/** The path parameters, query and body of an operation, and how to send them. */
export type AskOf<N extends OperationName> = Omit<Ask, 'query' | 'body'> & RequestOf<N>

/** An operation and its arguments. */
interface Request {
  name: OperationName
  ask: Ask & { params?: Readonly<Record<string, string>> | undefined }
}

export type Answer = Dispatcher.ResponseData

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

  /** How long a broken event stream is retried; undefined: the default. */
  get waitLimitMs(): number | undefined {
    return this.#address.waitLimitMs
  }

  /** The JSON of the answer, checked against the schema of the table. */
  async json<N extends JsonOperation>(name: N, ask: AskOf<N>): Promise<ResultOf<N>> {
    return (await this.jsonAndHeaders(name, ask)).value
  }

  async jsonAndHeaders<N extends JsonOperation>(
    name: N,
    ask: AskOf<N>,
  ): Promise<{ value: ResultOf<N>; headers: Answer['headers'] }> {
    const request: Request = { name, ask }
    return await this.#persist(request, async (answer) => {
      const value = parse(await this.#read(answer))
      const problem = misfit(resultSchema(name), value)
      if (problem === undefined) return { value: value as ResultOf<N>, headers: answer.headers }
      throw this.strange(`its answer to ${nameOf(request)} is not what it should be (at ${problem})`)
    })
  }

  async text<N extends OperationName>(name: N, ask: AskOf<N>): Promise<string> {
    return await this.#persist({ name, ask }, async (answer) => (await this.#read(answer)).toString())
  }

  /** Sends a request and ignores the body of the answer. */
  async done<N extends OperationName>(name: N, ask: AskOf<N>): Promise<void> {
    await this.#persist({ name, ask }, async (answer) => void (await this.#read(answer)))
  }

  /** An answer whose body the caller reads with {@link bytesOf}, which notices a body that ends early. */
  async open<N extends OperationName>(name: N, ask: AskOf<N>): Promise<Answer> {
    const request: Request = { name, ask }
    return await this.#persist(request, async (answer) => {
      const { headers } = answer
      if (headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined) return answer
      answer.body.destroy()
      throw this.strange(`its answer to ${nameOf(request)} does not say where it ends`)
    })
  }

  /** One try, for a caller that has its own wait limit. Throws `ResolveError`s, and undici's error where there was no answer. */
  async tryOnce<N extends OperationName>(name: N, ask: AskOf<N>): Promise<Answer> {
    return await this.#send({ name, ask }, undefined)
  }

  /** The bytes of a body; throws where the body ends before its announced length. */
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

  /** Whether a retry may succeed. An address that never answered is considered wrong. */
  isPassing(error: unknown): boolean {
    if (error instanceof ResolveError) return error.code === 'shutting_down'
    // A refusing socket shows that a host on this machine is gone.
    return isBroken(error) || (isAbsent(error) && this.#wasReached && this.#address.socket === undefined)
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }

  async #persist<T>(request: Request, read: (answer: Answer) => Promise<T>): Promise<T> {
    const { ask } = request
    const key = ask.act === undefined ? undefined : (this.#actorOf(ask)?.key ?? randomUUID())
    for (let tries = 0; ; tries += 1) {
      try {
        return await read(await this.#send(request, key))
      } catch (error) {
        const pauseMs = REMOTE_RETRY_MS[tries]
        if (pauseMs === undefined || !this.isPassing(error)) throw this.trouble(error)
        await sleep(pauseMs)
        ask.onRetry?.()
      }
    }
  }

  async #send(request: Request, key: string | undefined): Promise<Answer> {
    const { name, ask } = request
    const address = addressOf(name, ask.params ?? {}, ask.query)
    if (address === undefined) throw unaddressable(ask.params ?? {})
    const answer = await this.#agent.request({
      origin: this.#address.origin,
      path: `${this.#address.base}${address}`,
      method: OPERATIONS[name].method,
      headers: this.#headers(ask, key, contentTypeOf(request)),
      body: ask.archive ?? (ask.body === undefined ? null : JSON.stringify(ask.body)),
      headersTimeout: ask.limitMs ?? REMOTE_ANSWER_LIMIT_MS,
      bodyTimeout: REMOTE_SILENCE_LIMIT_MS,
      ...(ask.signal === undefined ? {} : { signal: ask.signal }),
    })
    this.#wasReached = true
    // The reader of the body gets the error; without this listener it would end the process.
    answer.body.on('error', () => {})
    if (answer.statusCode >= 200 && answer.statusCode < 300) return answer
    throw await this.#refusal(request, answer)
  }

  #headers(ask: Ask, key: string | undefined, type: string | undefined): Record<string, string> {
    const { token, door, socket } = this.#address
    const actor = this.#actorOf(ask)
    const via = actor?.via ?? door
    const name = actor?.actor
    return {
      accept: 'application/json',
      ...(type === undefined ? {} : { 'content-type': type }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(key === undefined ? {} : { [IDEMPOTENCY_KEY]: key }),
      ...(via === undefined ? {} : { [DOOR]: via }),
      ...(socket === undefined || name === undefined ? {} : { [ACTOR]: encodeURIComponent(name) }),
      ...ask.headers,
    }
  }

  #actorOf(ask: Ask): Actor | undefined {
    return ask.act === undefined ? undefined : (ask.act.actor ?? this.#address.actor)
  }

  async #refusal(request: Request, answer: Answer): Promise<ResolveError> {
    const { statusCode: status } = answer
    const told = received(parse(await this.#read(answer)))
    if (told?.code === 'route_unknown') return this.strange(`it does not know ${nameOf(request)}`)
    if (told !== undefined) return told
    // A proxy may have refused, or the server behind it may be down.
    if (status === 401) return refused('token_refused', `${this.shown} asks for another token.`)
    if (status === 403) return refused('token_refused', `${this.shown} refuses this token.`)
    if (status === 502 || status === 503 || status === 504) {
      return refused('shutting_down', `${this.shown} is not there now (${status}).`)
    }
    const { location } = answer.headers
    return this.strange(
      location === undefined ? `it answers ${nameOf(request)} with ${status}` : `it sends to ${String(location)}`,
    )
  }

  async #read({ body }: Answer): Promise<Buffer> {
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      bytes += chunk.length
      // The throw leaves the loop, which closes the connection.
      if (bytes > REMOTE_ANSWER_MAX_BYTES) throw this.strange('its response is too long')
    }
    return Buffer.concat(chunks)
  }
}

function contentTypeOf({ name, ask }: Request): string | undefined {
  const { takes }: Operation = OPERATIONS[name]
  return takes ?? (ask.body === undefined ? undefined : 'application/json')
}

function refused(code: 'token_refused' | 'shutting_down', detail: string): ResolveError {
  return received({ detail, code }) as ResolveError
}

function nameOf({ name, ask }: Request): string {
  return `${OPERATIONS[name].method} ${API}${addressOf(name, ask.params ?? {}) ?? OPERATIONS[name].path}`
}

/** Nothing has a name that cannot be part of an address. */
function unaddressable({ id, name, rid, path }: Readonly<Record<string, string>>): ResolveError {
  if (path !== undefined) return fail('path_refused', { path })
  if (rid !== undefined) return fail('request_unknown', { request: rid, instance: id ?? '' })
  return name === undefined ? fail('instance_unknown', { id: id ?? '' }) : fail('resolver_unknown', { name })
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString()) as unknown
  } catch {
    return undefined
  }
}
