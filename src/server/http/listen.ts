/** Opens the port: node:http with limits for each connection, and a close that lets requests finish. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { fail, type ResolveError, systemCode } from '../../core/errors.ts'
import {
  HTTP_CLOSE_LIMIT_MS,
  HTTP_CONNECTIONS_MAX,
  HTTP_HEADERS_LIMIT_MS,
  HTTP_HEADERS_MAX_BYTES,
  HTTP_IDLE_LIMIT_MS,
  HTTP_KEEP_ALIVE_MS,
  HTTP_LINGER_MS,
  HTTP_LOOK_MS,
  HTTP_REQUEST_LIMIT_MS,
  HTTP_RESERVE_MS,
} from '../../core/limits.ts'
import { lingerOnClose } from './linger.ts'

/** Limits for each connection; tests make them smaller. */
const LIMITS = {
  headersMs: HTTP_HEADERS_LIMIT_MS,
  requestMs: HTTP_REQUEST_LIMIT_MS,
  keepAliveMs: HTTP_KEEP_ALIVE_MS,
  idleMs: HTTP_IDLE_LIMIT_MS,
  lookMs: HTTP_LOOK_MS,
  lingerMs: HTTP_LINGER_MS,
  closeMs: HTTP_CLOSE_LIMIT_MS,
  connections: HTTP_CONNECTIONS_MAX,
  reserveMs: HTTP_RESERVE_MS,
}

export interface ListenOptions {
  host: string
  /** 0 for any free port. */
  port: number
  /** Called for every request before the app handles it, also where no route exists. */
  observe?: (request: IncomingMessage, response: ServerResponse) => void
  /** Called for an answer to bytes that were not a valid request. */
  onRefused?: (error: ResolveError) => void
  limits?: Partial<typeof LIMITS>
}

export interface Listening {
  /** The address for a browser on this machine: `http://127.0.0.1:10120`. */
  url: string
  port: number
  /**
   * Accepts no new connections, closes the app (which ends its event streams), lets requests finish for 5 s, then destroys
   * the rest.
   */
  close(): Promise<void>
}

/** Throws `address_taken`, `address_refused`. */
export async function listen(app: FastifyInstance, options: ListenOptions): Promise<Listening> {
  const limits = { ...LIMITS, ...options.limits }
  await app.ready()
  const server = createServer({
    maxHeaderSize: HTTP_HEADERS_MAX_BYTES,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: limits.lookMs,
    // The guard's refusal of a missing Host says more than an empty 400.
    requireHostHeader: false,
  })
  // The reserve lets a client in while others hold their connections without a request.
  server.maxConnections = limits.connections + 2 * RESERVE_CONNECTIONS
  server.timeout = limits.idleMs
  const underWay = new UnderWay(server, limits)
  const admit = lingerOnClose(server, limits.lingerMs)
  server.on('request', (request, response) => {
    if (!admit(request)) return
    options.observe?.(request, response)
    if (underWay.isClosing) return refuse(response)
    if (!underWay.add(request, response)) return
    app.routing(request, response)
  })
  server.on('clientError', (error, socket) => answerUnreadable(error, socket, options.onRefused))
  await bind(server, options)
  const { port } = server.address() as AddressInfo
  return { url: urlOf(options.host, port), port, close: () => underWay.close(() => app.close(), limits.closeMs) }
}

/** How many connections above the limit may try to send a request. */
const RESERVE_CONNECTIONS = 64

/** The connections of a server, and its unfinished answers. */
class UnderWay {
  readonly #server: Server
  readonly #limits: Pick<typeof LIMITS, 'connections' | 'reserveMs'>
  readonly #sockets = new Set<Duplex>()
  /** Those without a request, the oldest first. */
  readonly #waiting = new Set<Duplex>()
  /** Those above the limit, without a request so far, the oldest first. */
  readonly #reserve = new Map<Duplex, NodeJS.Timeout>()
  readonly #responses = new Set<ServerResponse>()
  #closing: Promise<void> | undefined

  constructor(server: Server, limits: Pick<typeof LIMITS, 'connections' | 'reserveMs'>) {
    this.#server = server
    this.#limits = limits
    server.on('connection', (socket) => this.#admit(socket))
  }

  #admit(socket: Duplex): void {
    this.#sockets.add(socket)
    this.#waiting.add(socket)
    socket.once('close', () => {
      this.#sockets.delete(socket)
      this.#waiting.delete(socket)
      this.#leaveReserve(socket)
    })
    if (this.#sockets.size - this.#reserve.size <= this.#limits.connections) return
    const oldest = this.#reserve.keys().next().value
    if (this.#reserve.size >= RESERVE_CONNECTIONS && oldest !== undefined) this.#cut(oldest)
    this.#reserve.set(socket, setTimeout(() => this.#cut(socket), this.#limits.reserveMs).unref())
  }

  /** A request came on a connection above the limit: it takes the place of the one that has had none for longest (WEB-6). */
  #makeRoomFor(socket: Duplex): boolean {
    if (!this.#reserve.has(socket)) return true
    this.#leaveReserve(socket)
    const idle = [...this.#waiting].find((one) => !this.#reserve.has(one))
    const slow = [...this.#responses].find(({ req }) => !req.complete)?.socket
    const given = idle ?? slow
    this.#cut(given ?? socket)
    return given !== undefined && given !== null
  }

  #cut(socket: Duplex): void {
    this.#sockets.delete(socket)
    this.#waiting.delete(socket)
    this.#leaveReserve(socket)
    socket.destroy()
  }

  #leaveReserve(socket: Duplex): void {
    clearTimeout(this.#reserve.get(socket))
    this.#reserve.delete(socket)
  }

  get isClosing(): boolean {
    return this.#closing !== undefined
  }

  /** False where there is no room: the connection is cut. */
  add({ socket }: IncomingMessage, response: ServerResponse): boolean {
    this.#waiting.delete(socket)
    if (!this.#makeRoomFor(socket)) return false
    this.#responses.add(response)
    response.once('close', () => {
      this.#responses.delete(response)
      if (this.#sockets.has(socket)) this.#waiting.add(socket)
      if (this.isClosing) this.#cutIdle()
    })
    return true
  }

  close(closeApp: () => Promise<void>, limitMs: number): Promise<void> {
    this.#closing ??= this.#close(closeApp, limitMs)
    return this.#closing
  }

  async #close(closeApp: () => Promise<void>, limitMs: number): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    // During a shutdown an answer tells the client not to reuse the connection.
    for (const response of this.#responses) if (!response.headersSent) response.shouldKeepAlive = false
    const appClosed = closeApp()
    this.#cutIdle()
    const waited = new AbortController()
    await Promise.race([closed, sleep(limitMs, undefined, { signal: waited.signal }).catch(() => undefined)])
    waited.abort()
    for (const socket of this.#sockets) socket.destroy()
    await closed
    await appClosed
  }

  #cutIdle(): void {
    const busy = new Set<Duplex | null>([...this.#responses].map((response) => response.socket))
    for (const socket of this.#sockets) if (!busy.has(socket)) socket.destroy()
  }
}

function refuse(response: ServerResponse): void {
  const body = bodyOf(fail('shutting_down', {}))
  response.writeHead(503, { ...UNREADABLE_HEADERS, 'Content-Length': Buffer.byteLength(body) }).end(body)
}

const UNREADABLE_HEADERS = {
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  Connection: 'close',
}

/** Answers bytes that are not a valid request; no route can be found for them. */
function answerUnreadable(error: Error, socket: Duplex, tell: ListenOptions['onRefused']): void {
  const { _httpMessage: begun } = socket as Duplex & { _httpMessage?: ServerResponse }
  if (systemCode(error) === 'ECONNRESET' || !socket.writable || begun?.headersSent === true) {
    socket.destroy()
    return
  }
  const refusal = refusalOf(error)
  tell?.(refusal)
  const body = bodyOf(refusal)
  const headers = { ...UNREADABLE_HEADERS, 'Content-Length': Buffer.byteLength(body) }
  const head = [
    `HTTP/1.1 ${refusal.httpStatus} ${REASONS[refusal.httpStatus] ?? 'Bad Request'}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy())
}

const REASONS: Readonly<Record<number, string>> = {
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
}

function refusalOf(error: Error): ResolveError {
  switch (systemCode(error)) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return fail('request_slow', {}, { cause: error })
    case 'HPE_HEADER_OVERFLOW':
      return fail('headers_too_large', { limit: HTTP_HEADERS_MAX_BYTES }, { cause: error })
    default:
      return fail('request_malformed', { problem: 'it is not HTTP' }, { cause: error })
  }
}

function bodyOf({ outside, code, hint }: ResolveError): string {
  return JSON.stringify({ detail: outside, code, ...(hint === undefined ? {} : { hint }) })
}

function bind(server: Server, { host, port }: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (error: Error) => reject(bindError(error, `${bracketed(host)}:${port}`))
    server.once('error', onError)
    server.listen({ host, port }, () => {
      server.off('error', onError)
      // Later errors concern one connection (no file descriptors left) and do not stop the server.
      server.on('error', () => {})
      resolve()
    })
  })
}

function bindError(error: Error, address: string): ResolveError {
  switch (systemCode(error)) {
    case 'EADDRINUSE':
      return fail('address_taken', { address, reason: 'another program listens on it' }, { cause: error })
    case 'EACCES':
    case 'EPERM':
      return fail('address_refused', { address, reason: 'this user may not use the port' }, { cause: error })
    case 'EADDRNOTAVAIL':
      return fail('address_refused', { address, reason: 'this machine does not have this address' }, { cause: error })
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return fail('address_refused', { address, reason: 'there is no such host name' }, { cause: error })
    default:
      return fail('address_refused', { address, reason: error.message }, { cause: error })
  }
}

function urlOf(host: string, port: number): string {
  const here = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${bracketed(here)}:${port}`
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
