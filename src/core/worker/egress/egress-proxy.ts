/**
 * The door out of a worker whose network is an allowlist: a forward proxy for `CONNECT host:port` and `GET http://host/…` that lets
 * pass what a rule names (threats B8). It resolves names itself and connects to the very address it looked at, so no second answer of
 * a name server counts. {@link file://./egress.ts} opens it on the gateway of the worker's own network.
 */
import { lookup } from 'node:dns/promises'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import * as limits from '../../limits.ts'
import { within } from '../../primitives/within.ts'
import { isAllowed, parseEgressRule, parseTarget, type Target } from '../../protocol/egress.ts'
import { isOwnAddress, isPublicAddress } from './egress-addresses.ts'
import { type Denial, type DenialReason, EgressReports } from './egress-reports.ts'

export interface EgressOptions {
  /** As the manifest has them; what is no rule allows nothing. */
  rules: readonly string[]
  /** Where it listens; port 0 for any. */
  address: string
  port: number
  /** Whose connections it takes: the worker's network only. */
  admits?: (address: string) => boolean
  onDenied: (denial: Denial) => void
  /** The addresses of a name; what the machine says by default. */
  resolve?: (host: string) => Promise<string[]>
  /** Which addresses may be connected to; the public ones by default. */
  mayReach?: (address: string) => boolean
  /** How long nothing may move. */
  idleMs?: number
  connectMs?: number
  reportMs?: number
}

export interface EgressProxy {
  readonly port: number
  /** Ends every connection. */
  close(): Promise<void>
}

/** Throws the system's error where it can't listen. */
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
    // An upload may take its time; what does not move at all is ended below.
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
    refuse(socket, 400, 'This is no request to a proxy.')
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
  readonly #rules
  readonly #reports: EgressReports

  constructor(options: EgressOptions) {
    this.#options = options
    this.#rules = options.rules.map(parseEgressRule).filter((rule) => rule !== undefined)
    this.#reports = new EgressReports(options.onDenied, options.reportMs)
  }

  close(): void {
    this.#reports.close()
  }

  deny(host: string, port: number, reason: DenialReason): void {
    this.#reports.note(host, port, reason)
  }

  /** Bytes both ways, unseen: what is in them is between the worker and the host it may reach. */
  async tunnel(message: IncomingMessage, socket: Duplex, head: Buffer, keep: Keep): Promise<void> {
    keep(socket).pause()
    const authority = message.url ?? ''
    const target = isSound(message) ? parseTarget(authority) : undefined
    const reached = await this.#reach(target, authority, keep)
    if (!('socket' in reached)) return refuse(socket, reached.status, reached.why)
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

  /** One plain request, made anew from what was understood of it: nothing else of it is sent on. */
  async forward(message: IncomingMessage, response: ServerResponse, keep: Keep): Promise<void> {
    const match = ABSOLUTE.exec(message.url ?? '')
    const authority = match?.[1] ?? ''
    const target = isSound(message) ? parseTarget(authority, HTTP_PORT) : undefined
    const reached = await this.#reach(target, authority, keep)
    if (!('socket' in reached)) {
      response.writeHead(reached.status, { 'content-type': 'text/plain', connection: 'close' }).end(`${reached.why}\n`)
      return
    }
    const { socket } = reached
    const { host, port } = reached.target
    const path = match?.[2] ?? ''
    // A body of unknown length stays framed whatever the method: unframed, its end could pass for another request.
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
        // A status or a header that may not be sent on.
        response.destroy()
      }
    })
    outgoing.on('error', () => {
      if (response.headersSent) response.destroy()
      else response.writeHead(502, { 'content-type': 'text/plain', connection: 'close' }).end('The host broke off.\n')
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
    if (!isAllowed(this.#rules, target)) {
      this.deny(host, port, 'not_allowed')
      return { status: 403, why: `This resolver may not reach ${host}:${port}: no rule of its manifest names it.` }
    }
    const found = await this.#addressesOf(host)
    if (found.length === 0) return { status: 502, why: `There is no host ${host}.` }
    const open = found.filter((address) => this.#mayReach(address))
    if (open.length === 0) {
      this.deny(host, port, 'forbidden_address')
      return { status: 403, why: `${host} leads to an address that no worker may reach.` }
    }
    for (const address of open.slice(0, limits.EGRESS_ADDRESSES_TRIED)) {
      const socket = await this.#connect(address, port, keep)
      if (socket !== undefined) return { socket, target }
    }
    return { status: 502, why: `Can't connect to ${host}:${port}.` }
  }

  async #addressesOf(host: string): Promise<string[]> {
    try {
      return (await within(limits.EGRESS_RESOLVE_LIMIT_MS, (this.#options.resolve ?? resolveHere)(host))) ?? []
    } catch {
      return []
    }
  }

  #mayReach(address: string): boolean {
    return this.#options.mayReach?.(address) ?? (isPublicAddress(address) && !isOwnAddress(address))
  }

  #connect(address: string, port: number, keep: Keep): Promise<Socket | undefined> {
    return new Promise((resolve) => {
      // An address, not a name: nothing is looked up again.
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

/** Of a version we speak, its body framed in a way that everybody reads alike. */
function isSound(message: IncomingMessage): boolean {
  const encoding = message.headers['transfer-encoding']
  return /^1\.[01]$/.test(message.httpVersion) && (encoding === undefined || encoding.toLowerCase() === 'chunked')
}

const HTTP_PORT = 80
const ABSOLUTE = /^http:\/\/([^/?#]*)([^#]*)$/i

/** What is between two neighbours only, and what speaks of the proxy (RFC 9110, 7.6.1). */
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

async function resolveHere(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true })
  return found.map(({ address }) => address)
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

/** An IPv4 address may come in the clothes of an IPv6 one. */
function plainAddress(address: string): string {
  return address.replace(/^::ffff:/i, '')
}

/** What a worker sent, fit for an event. */
function printable(text: string): string {
  return text.replace(/[^\x21-\x7e]/g, '?').slice(0, 100) || '*'
}
