/**
 * A JSON-RPC 2.0 peer over lines: both sides may call, notify and answer. The host uses it towards a resolver, the SDK towards
 * its host, and each host on its control socket.
 */
import { fail, ResolveError, systemCode } from '../errors.ts'
import { isObject } from '../primitives/is-object.ts'
import type { Channel } from './channel.ts'

type Handler = (params: unknown) => unknown

interface Waiting {
  method: string
  settle: (reply: { result: unknown } | { error: ResolveError }) => void
}

export interface PeerOptions {
  /** Prefix of the ids of our calls; replies to an earlier host are recognised by it (architecture, decision 2). */
  epoch?: number | string
  /** Called for a line that is not a JSON-RPC frame, and for a reply that matches no pending call. */
  onNoise?: (line: string, why: 'not_json_rpc' | 'unknown_reply') => void
  /** Called for a notification without a handler. */
  onNotice?: (method: string, params: unknown) => void
}

/** The error codes of JSON-RPC. */
const METHOD_NOT_FOUND = -32601
const INTERNAL_ERROR = -32603

export class Peer {
  readonly #channel: Channel
  readonly #options: PeerOptions
  readonly #handlers = new Map<string, Handler>()
  readonly #waiting = new Map<string, Waiting>()
  #lastId = 0
  #closed = false
  #isIgnoring = false
  #isAnswering = true

  constructor(channel: Channel, options: PeerOptions = {}) {
    this.#channel = channel
    this.#options = options
    channel.onLine((line) => this.#receive(line))
    channel.onClose(() => this.#end())
  }

  /** Registers the handler of calls and notifications of `method`. A thrown error becomes an error reply. */
  handle(method: string, handler: Handler): void {
    this.#handlers.set(method, handler)
  }

  notify(method: string, params: unknown): void {
    this.#send({ jsonrpc: '2.0', method, params })
  }

  /**
   * Calls `method` and waits for its result, at most `limitMs` (0: no limit). Throws `resolver_silent` when the limit passes,
   * `connection_closed` when the channel ends first, and the other side's error otherwise. A timed-out id is never used again
   * (threats RPC-4).
   */
  call(method: string, params: unknown, limitMs: number): Promise<unknown> {
    if (this.#closed) return Promise.reject(fail('connection_closed', { peer: 'the other side' }))
    const id = `${this.#options.epoch ?? 0}:${++this.#lastId}`
    return new Promise((resolve, reject) => {
      const timer =
        limitMs > 0
          ? setTimeout(() => {
              this.#waiting.delete(id)
              reject(fail('resolver_silent', { method, limit_ms: limitMs }))
            }, limitMs)
          : undefined
      this.#waiting.set(id, {
        method,
        settle: (reply) => {
          clearTimeout(timer)
          this.#waiting.delete(id)
          if ('error' in reply) reject(reply.error)
          else resolve(reply.result)
        },
      })
      this.#send({ jsonrpc: '2.0', id, method, params })
    })
  }

  close(): void {
    this.#channel.close()
    this.#end()
  }

  /** Ignores everything from now on. Pending calls end at their limit or when the channel closes. */
  ignoreIncoming(): void {
    this.#isIgnoring = true
  }

  /** Ignores calls from now on; notifications and answers still arrive. */
  stopAnswering(): void {
    this.#isAnswering = false
  }

  #send(frame: Record<string, unknown>): void {
    if (!this.#closed) this.#channel.send(JSON.stringify(frame))
  }

  #end(): void {
    if (this.#closed) return
    this.#closed = true
    for (const waiting of [...this.#waiting.values()]) {
      waiting.settle({ error: fail('connection_closed', { peer: 'the other side' }) })
    }
  }

  #receive(line: string): void {
    if (this.#isIgnoring || line.trim() === '') return
    const frame = parseFrame(line)
    if (frame === undefined) this.#options.onNoise?.(line, 'not_json_rpc')
    else if (typeof frame['method'] === 'string') this.#serve(frame as unknown as Request)
    else this.#settle(frame, line)
  }

  #settle(frame: Record<string, unknown>, line: string): void {
    const waiting = typeof frame['id'] === 'string' ? this.#waiting.get(frame['id']) : undefined
    if (waiting === undefined) {
      this.#options.onNoise?.(line, 'unknown_reply')
      return
    }
    if ('error' in frame) waiting.settle({ error: toError(waiting.method, frame['error']) })
    else waiting.settle({ result: frame['result'] })
  }

  #serve(request: Request): void {
    const handler = this.#handlers.get(request.method)
    if (request.id === undefined) {
      if (handler === undefined) this.#options.onNotice?.(request.method, request.params)
      else void this.#run(handler, request.params).catch(() => {})
      return
    }
    if (!this.#isAnswering) return
    const { id } = request
    if (handler === undefined) {
      const error = { code: METHOD_NOT_FOUND, message: `There is no method ${request.method.slice(0, 100)}` }
      this.#send({ jsonrpc: '2.0', id, error })
      return
    }
    this.#run(handler, request.params).then(
      (result) => this.#send({ jsonrpc: '2.0', id, result: result ?? null }),
      (error: unknown) => this.#send({ jsonrpc: '2.0', id, error: toReply(error) }),
    )
  }

  async #run(handler: Handler, params: unknown): Promise<unknown> {
    return await handler(params)
  }
}

interface Request {
  id?: string | number
  method: string
  params: unknown
}

function parseFrame(line: string): Record<string, unknown> | undefined {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return undefined
  }
  if (!isObject(value)) return undefined
  const frame = value as Record<string, unknown>
  const isCall = typeof frame['method'] === 'string'
  const isReply = 'id' in frame && ('result' in frame || 'error' in frame)
  return frame['jsonrpc'] === '2.0' && (isCall || isReply) ? frame : undefined
}

/** Turns the other side's error reply into an error of our catalogue; it cannot forge one of its codes. */
function toError(method: string, error: unknown): ResolveError {
  const { code, message } = (typeof error === 'object' && error !== null ? error : {}) as Record<string, unknown>
  const detail = typeof message === 'string' ? message : 'an error without a message'
  return fail('resolver_refused', { method, detail, rpc: typeof code === 'number' ? code : 0 })
}

function toReply(error: unknown): Record<string, unknown> {
  const message = error instanceof Error ? error.message : String(error)
  if (!(error instanceof ResolveError)) {
    return { code: INTERNAL_ERROR, message, ...(systemCode(error) ? { data: { system: systemCode(error) } } : {}) }
  }
  return {
    code: INTERNAL_ERROR,
    message,
    data: { code: error.code, resolve_error: error.code, details: error.details },
  }
}
