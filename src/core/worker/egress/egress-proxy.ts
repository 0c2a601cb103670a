/**
 * The forward proxy of a worker with an allowlist: it lets `CONNECT host:port` and `GET http://host/…` pass where a rule names
 * the host (threats B8). It resolves names itself and connects to the address that it checked, so a second, different DNS
 * answer has no effect. {@link file://./egress.ts} opens it on the gateway of the worker's own network.
 */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import * as limits from '../../limits.ts'
import { parseTarget, type Target } from '../../protocol/egress.ts'
import { Admission, type AdmissionOptions } from './admission.ts'
import { type Denial, type DenialReason, EgressReports } from './egress-reports.ts'
import { RepeatedRefusals } from './repeated-refusals.ts'
import { SharedLookups } from './shared-lookups.ts'

export interface EgressOptions extends AdmissionOptions {
  /** The address and port to listen on; port 0 for any free one. */
  address: string
  port: number
  /** Which client addresses it accepts: only those of the worker's network. */
  admits?: (address: string) => boolean
  onDenied: (denial: Denial) => void
  /** Resolves a name; the system's resolver by default. */
  resolve?: (host: string) => Promise<string[]>
  /**
   * What a refused CONNECT gets. sentence (the default): an answer that a person reads, until the client repeats it. close: the connection is
   * closed; for programs that take an answer as a reason to try again at once.
   */
  answers?: 'sentence' | 'close'
  /** How long a connection may be idle. */
  idleMs?: number
  connectMs?: number
  reportMs?: number
}

export interface EgressProxy {
  readonly port: number
  /** Closes every connection. */
  close(): Promise<void>
}

/** Throws the system's error where it cannot listen. */
export async function openEgressProxy(options: EgressOptions): Promise<EgressProxy> {
  const gate = new Gate(options)
  const open = new Set<Duplex>()
  const keep = <S extends Duplex>(socket: S): S => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
    socket.on('error', () => socket.destroy())
    return socket
  }
  const server = createServer({
    maxHeaderSize: limits.EGRESS_HEAD_MAX_BYTES,
    headersTimeout: limits.EGRESS_HEAD_LIMIT_MS,
    // No limit for an upload as a whole; an idle one is ended below.
    requestTimeout: 0,
    keepAliveTimeout: limits.HTTP_KEEP_ALIVE_MS,
    connectionsCheckingInterval: limits.HTTP_LOOK_MS,
    insecureHTTPParser: false,
  })
  server.maxConnections = limits.EGRESS_CONNECTIONS_MAX
  server.on('connection', (socket: Socket) => {
    keep(socket).setTimeout(options.idleMs ?? limits.EGRESS_IDLE_LIMIT_MS, () => socket.destroy())
    if (options.admits?.(plainAddress(socket.remoteAddress ?? '')) === false) socket.destroy()
  })
  server.on('drop', () => gate.deny('*', 0, 'too_many'))
  server.on('clientError', (_error, socket) => {
    gate.deny('*', 0, 'malformed')
    refuse(socket, 400, 'This is not a proxy request.')
  })
  server.on('connect', (message: IncomingMessage, socket: Duplex, head: Buffer) => {
    gate.tunnel(message, socket, head, keep).catch(() => socket.destroy())
  })
  server.on('request', (message, response) => {
    gate.forward(message, response, keep).catch(() => response.destroy())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host: options.address, port: options.port }, () => {
      server.removeListener('error', reject)
      server.on('error', () => undefined)
      resolve()
    })
  })
  const close = async () => {
    const closed = new Promise((resolve) => server.close(resolve))
    for (const socket of open) socket.destroy()
    gate.close()
    await closed
  }
  return { port: (server.address() as AddressInfo).port, close }
}

type Keep = <S extends Duplex>(socket: S) => S

class Gate {
  readonly #options: EgressOptions
  readonly #admission: Admission
  readonly #lookups: SharedLookups
  readonly #refusals = new RepeatedRefusals()
  readonly #reports: EgressReports

  constructor(options: EgressOptions) {
    this.#options = options
    this.#admission = new Admission(options)
    this.#lookups = new SharedLookups(options.resolve)
    this.#reports = new EgressReports(options.onDenied, options.reportMs)
  }

  close(): void {
    this.#reports.close()
  }

  deny(host: string, port: number, reason: DenialReason): void {
    this.#reports.note(host, port, reason)
  }

  /** Copies bytes both ways without reading them: their content is between the worker and an allowed host. */
  async tunnel(message: IncomingMessage, socket: Duplex, head: Buffer, keep: Keep): Promise<void> {
    keep(socket).pause()
    const authority = message.url ?? ''
    const target = isWellFormed(message) ? parseTarget(authority) : undefined
    const reached = await this.#reach(target, authority, keep)
    if (!('socket' in reached)) {
      const client = plainAddress(message.socket.remoteAddress ?? '')
      this.#refuseTunnel(socket, reached, client, target === undefined ? authority : `${target.host}:${target.port}`)
      return
    }
    const upstream = reached.socket
    if (socket.destroyed) {
      upstream.destroy()
      return
    }
    socket.once('close', () => upstream.destroy())
    upstream.once('close', () => socket.destroy())
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
    if (head.length > 0) upstream.write(head)
    upstream.pipe(socket)
    socket.pipe(upstream)
  }

  /** With its sentence, or closed without one. Both are reported. */
  #refuseTunnel(socket: Duplex, { status, why }: Refused, client: string, target: string): void {
    const isAnswered = this.#options.answers !== 'close' && this.#refusals.mayAnswer(client, target)
    if (isAnswered) refuse(socket, status, why)
    else socket.destroy()
  }

  /** Sends one plain request, built again from its parsed parts; nothing else of the original is forwarded. */
  async forward(message: IncomingMessage, response: ServerResponse, keep: Keep): Promise<void> {
    const match = ABSOLUTE.exec(message.url ?? '')
    const authority = match?.[1] ?? ''
    const target = isWellFormed(message) ? parseTarget(authority, HTTP_PORT) : undefined
    const reached = await this.#reach(target, authority, keep)
    if (!('socket' in reached)) {
      response.writeHead(reached.status, { 'content-type': 'text/plain', connection: 'close' }).end(`${reached.why}\n`)
      return
    }
    const { socket } = reached
    const { host, port } = reached.target
    const path = match?.[2] ?? ''
    // A body of unknown length stays chunked for every method: without framing, its end could be read as another request.
    const framing = message.headers['transfer-encoding'] === undefined ? {} : { 'transfer-encoding': 'chunked' }
    const outgoing = request({
      createConnection: () => socket,
      method: message.method ?? 'GET',
      path: path.startsWith('/') ? path : `/${path}`,
      headers: { ...passedOn(message), ...framing, host: port === HTTP_PORT ? host : `${host}:${port}` },
      setHost: false,
      maxHeaderSize: limits.EGRESS_HEAD_MAX_BYTES,
    })
    outgoing.on('response', (answer) => {
      answer.on('error', () => response.destroy())
      try {
        response.writeHead(answer.statusCode ?? 502, passedOn(answer))
        answer.pipe(response)
      } catch {
        // The response has a status or a header that may not be forwarded.
        response.destroy()
      }
    })
    outgoing.on('error', () => {
      if (response.headersSent) response.destroy()
      else
        response
          .writeHead(502, { 'content-type': 'text/plain', connection: 'close' })
          .end('The host closed the connection.\n')
    })
    response.on('close', () => outgoing.destroy())
    message.pipe(outgoing)
  }

  async #reach(target: Target | undefined, said: string, keep: Keep): Promise<Reached | Refused> {
    if (target === undefined) {
      this.deny(printable(said), 0, 'malformed')
      return { status: 400, why: 'Name a host and a port: CONNECT host:port, or GET http://host/path.' }
    }
    const { host, port } = target
    const mayReach = this.#admission.addressesFor(target)
    if (mayReach === undefined) {
      this.deny(host, port, 'not_allowed')
      return { status: 403, why: this.#admission.whyRefused(target) }
    }
    const found = await this.#lookups.addressesOf(host)
    if (found.length === 0) return { status: 502, why: `Cannot resolve ${host}.` }
    const open = found.filter(mayReach)
    if (open.length === 0) {
      this.deny(host, port, 'forbidden_address')
      return { status: 403, why: `${host} has an address that workers may not reach.` }
    }
    for (const address of open.slice(0, limits.EGRESS_ADDRESSES_TRIED)) {
      const socket = await this.#connect(address, port, keep)
      if (socket !== undefined) return { socket, target }
    }
    return { status: 502, why: `Can't connect to ${host}:${port}.` }
  }

  #connect(address: string, port: number, keep: Keep): Promise<Socket | undefined> {
    return new Promise((resolve) => {
      // The host is an address already: it is not resolved again.
      const socket = keep(connect({ host: address, port }))
      const limit = setTimeout(() => socket.destroy(), this.#options.connectMs ?? limits.EGRESS_CONNECT_LIMIT_MS)
      socket.once('close', () => {
        clearTimeout(limit)
        resolve(undefined)
      })
      socket.once('connect', () => {
        clearTimeout(limit)
        socket.setTimeout(this.#options.idleMs ?? limits.EGRESS_IDLE_LIMIT_MS, () => socket.destroy())
        resolve(socket)
      })
    })
  }
}

interface Reached {
  socket: Socket
  target: Target
}

interface Refused {
  status: number
  why: string
}

/** The request has a supported version, and a body whose framing is unambiguous. */
function isWellFormed(message: IncomingMessage): boolean {
  const encoding = message.headers['transfer-encoding']
  return /^1\.[01]$/.test(message.httpVersion) && (encoding === undefined || encoding.toLowerCase() === 'chunked')
}

const HTTP_PORT = 80
const ABSOLUTE = /^http:\/\/([^/?#]*)([^#]*)$/i

/** Headers of a single hop, and headers about the proxy (RFC 9110, 7.6.1). */
const OWN_HEADERS = [
  'connection',
  'expect',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]

function passedOn(message: IncomingMessage): Record<string, string[]> {
  const named = (message.headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase())
  const passed: Record<string, string[]> = {}
  for (const [name, values] of Object.entries(message.headersDistinct)) {
    if (values !== undefined && !OWN_HEADERS.includes(name) && !named.includes(name)) passed[name] = values
  }
  return passed
}

function refuse(socket: Duplex, status: number, why: string): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const body = `${why}\n`
  const head = `HTTP/1.1 ${status} Refused\r\nContent-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`
  socket.end(`${head}Connection: close\r\n\r\n${body}`, () => socket.destroy())
}

/** An IPv4 client may appear as an IPv4-mapped IPv6 address. */
function plainAddress(address: string): string {
  return address.replace(/^::ffff:/i, '')
}

/** Text from a worker, made safe for an event. */
function printable(text: string): string {
  return text.replace(/[^\x21-\x7e]/g, '?').slice(0, 100) || '*'
}
