/** Sends one request to the software and tells what came back, within a time and a size. main.ts calls it for `http` and `probe`. */
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { systemCode } from '../core/errors.ts'
import {
  VALIDATOR_BODY_JSON_MAX_BYTES,
  VALIDATOR_BODY_MAX_BYTES,
  VALIDATOR_HEADERS_MAX_BYTES,
  VALIDATOR_PROBE_MS,
  VALIDATOR_REDIRECTS_MAX,
} from '../core/limits.ts'
import { beginningOf } from '../core/primitives/beginning-of.ts'
import type { Observation } from '../core/protocol/check/reality-check.ts'
import {
  checkedPath,
  type Fields,
  fieldsOf,
  limitOf,
  numberOf,
  portOf,
  refuse,
  textOf,
  textOrNull,
  textsOf,
} from './shared/params.ts'

type HttpObservation = Extract<Observation, { kind: 'http' }>

interface Asked {
  method: string
  /** With its query. */
  path: string
  headers: Record<string, string>
  body: string | null
}

interface Bounds {
  port: number
  addresses: string[]
  /** By performance.now(). */
  deadline: number
  maxBytes: number
}

interface Answer {
  status: number | null
  headers: [string, string][]
  body: Buffer
  truncated: boolean
  error: string | null
}

const LOOPBACK = ['127.0.0.1', '::1']
const NO_ADDRESS = ['refused', 'unreachable']

/** Answers `http`. Throws `observation_refused` for a request that can't be sent. */
export async function observeHttp(params: unknown): Promise<HttpObservation> {
  const fields = fieldsOf(params)
  const wish = fieldsOf(fields['request'], 'request')
  const asked = askedBy(wish)
  const began = performance.now()
  const bounds: Bounds = {
    port: portOf(fields),
    addresses: addressesOf(fields),
    deadline: began + limitOf(fields),
    maxBytes: numberOf(fields, 'max_bytes', 0, VALIDATOR_BODY_MAX_BYTES, VALIDATOR_BODY_MAX_BYTES),
  }
  const answer = await (fields['follow_redirects'] === true ? follow(asked, bounds) : exchange(asked, bounds))
  const body = fitting(answer.body.toString('utf8'))
  return {
    kind: 'http',
    method: asked.method,
    path: asked.path,
    request_body: asked.body === null ? null : beginningOf(asked.body, VALIDATOR_HEADERS_MAX_BYTES),
    status: answer.status,
    headers: answer.headers,
    body: body.text,
    truncated: answer.truncated || body.isCut,
    duration_ms: Math.round(performance.now() - began),
    error: answer.error,
  }
}

/** Answers `probe`: the status of a GET, at the first address that gives one. */
export async function probe(params: unknown): Promise<{ status: number | null; error: string | null }> {
  const fields = fieldsOf(params)
  const asked: Asked = { method: 'GET', path: checkedPath(textOf(fields, 'path')), headers: {}, body: null }
  asked.path = sendable(asked.path)
  const port = portOf(fields)
  const deadline = performance.now() + VALIDATOR_PROBE_MS
  const answers = await Promise.all(
    LOOPBACK.map((address) => exchange(asked, { port, addresses: [address], deadline, maxBytes: 0 })),
  )
  const best =
    answers.find(({ status }) => status !== null) ??
    answers.find(({ error }) => error !== null && !NO_ADDRESS.includes(error)) ??
    answers.find(({ error }) => error === 'refused')
  return { status: best?.status ?? null, error: best === undefined ? 'unreachable' : best.error }
}

function askedBy(wish: Fields): Asked {
  const method = textOf(wish, 'method')
  if (!/^[A-Z]{1,20}$/.test(method) || method === 'CONNECT') throw refuse('method is no method of HTTP')
  const query = new URLSearchParams(textsOf(wish, 'query')).toString()
  const [path = ''] = checkedPath(textOf(wish, 'path')).split('#')
  const joined = query === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`
  return { method, path: sendable(joined), headers: textsOf(wish, 'headers'), body: textOrNull(wish, 'body') }
}

/** With what a request line can't hold in its encoded form. `..` stays: the software must cope with it. */
function sendable(path: string): string {
  return path.toWellFormed().replace(/[^\x21-\x7e]/gu, (one) => encodeURIComponent(one))
}

function addressesOf(fields: Fields): string[] {
  const addresses = fields['addresses'] ?? LOOPBACK
  if (!Array.isArray(addresses) || addresses.length === 0 || addresses.some((one) => !LOOPBACK.includes(one)))
    throw refuse(`addresses are not of ${LOOPBACK.join(' and ')}`)
  return addresses as string[]
}

/** Follows redirects of the same origin. Any other redirect, and one too many, is the answer. */
async function follow(first: Asked, bounds: Bounds): Promise<Answer> {
  let asked = first
  for (let hops = 0; ; hops += 1) {
    const answer = await exchange(asked, bounds)
    const next =
      answer.error === null && hops < VALIDATOR_REDIRECTS_MAX ? redirected(asked, answer, bounds.port) : undefined
    if (next === undefined) return answer
    asked = next
  }
}

function redirected(asked: Asked, { status, headers }: Answer, port: number): Asked | undefined {
  const location = headers.find(([name]) => name.toLowerCase() === 'location')?.[1]
  if (status === null || ![301, 302, 303, 307, 308].includes(status) || location === undefined) return undefined
  const base = `http://localhost:${port}`
  const url = URL.canParse(location, base + asked.path) ? new URL(location, base + asked.path) : undefined
  const isOwn = url !== undefined && url.protocol === 'http:' && Number(url.port || 80) === port
  if (!isOwn || !['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)) return undefined
  const path = url.pathname + url.search
  if (status >= 307 || asked.method === 'HEAD') return { ...asked, path }
  const headersOfGet = Object.entries(asked.headers).filter(([name]) => !/^content-/i.test(name))
  return { method: 'GET', path, headers: Object.fromEntries(headersOfGet), body: null }
}

/** One request, at the first address where something listens. */
async function exchange(asked: Asked, bounds: Bounds): Promise<Answer> {
  let answer: Answer | undefined
  for (const address of bounds.addresses) {
    const next = await exchangeAt(address, asked, bounds)
    if (next.error === null || !NO_ADDRESS.includes(next.error)) return next
    // That nothing listens says more than that there is no such address.
    if (answer === undefined || next.error === 'refused') answer = next
  }
  return { ...(answer as Answer), error: 'refused' }
}

function exchangeAt(host: string, asked: Asked, { port, deadline, maxBytes }: Bounds): Promise<Answer> {
  return new Promise((resolve) => {
    const answer: Answer = { status: null, headers: [], body: Buffer.alloc(0), truncated: false, error: null }
    const pieces: Buffer[] = []
    let size = 0
    let call: ClientRequest | undefined
    const end = (error: string | null): void => {
      clearTimeout(timer)
      call?.destroy()
      resolve({
        ...answer,
        body: Buffer.concat(pieces),
        truncated: answer.truncated || (error !== null && size > 0),
        error,
      })
    }
    const timer = setTimeout(end, Math.max(1, deadline - performance.now()), 'timeout')
    const take = (response: IncomingMessage): void => {
      answer.status = response.statusCode ?? null
      answer.headers = pairsOf(response.rawHeaders)
      response.on('data', (piece: Buffer) => {
        const rest = maxBytes - size
        if (rest > 0) pieces.push(piece.subarray(0, rest))
        size += piece.length
        if (size <= maxBytes) return
        answer.truncated = true
        end(null)
      })
      response.on('end', () => end(null))
      response.on('error', (error) => end(reasonOf(error)))
    }
    try {
      call = request({
        host,
        port,
        method: asked.method,
        path: asked.path,
        headers: headersOf(asked, port),
        agent: false,
        maxHeaderSize: VALIDATOR_HEADERS_MAX_BYTES,
      })
    } catch (error) {
      clearTimeout(timer)
      throw refuse(error instanceof Error ? error.message : String(error))
    }
    call.on('response', take)
    // The software changes the protocol: nothing more is read.
    call.on('upgrade', (response) => {
      take(response)
      end(null)
    })
    call.on('error', (error) => end(reasonOf(error)))
    call.end(asked.body ?? undefined)
  })
}

/** What a browser of this machine would send, unless the test says otherwise. */
function headersOf({ headers, body }: Asked, port: number): Record<string, string> {
  const given = new Set(Object.keys(headers).map((name) => name.toLowerCase()))
  const usual: Record<string, string> = { host: `localhost:${port}`, accept: '*/*', 'user-agent': 'resolve-validator' }
  if (body !== null && !given.has('transfer-encoding')) usual['content-length'] = String(Buffer.byteLength(body))
  return { ...Object.fromEntries(Object.entries(usual).filter(([name]) => !given.has(name))), ...headers }
}

function pairsOf(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, at) => (at % 2 === 0 ? [[name, raw[at + 1] ?? ''] as [string, string]] : []))
}

function reasonOf(error: Error): string {
  const code = systemCode(error) ?? ''
  if (code === 'ECONNREFUSED') return 'refused'
  if (['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'ENETUNREACH', 'EHOSTUNREACH'].includes(code)) return 'unreachable'
  if (code === 'HPE_HEADER_OVERFLOW') return 'too_large'
  return code.startsWith('HPE_') ? 'malformed' : 'reset'
}

/** As much of a text as fits into a frame when it is JSON. */
function fitting(text: string): { text: string; isCut: boolean } {
  let kept = text
  for (let size = jsonBytes(kept); size > VALIDATOR_BODY_JSON_MAX_BYTES; size = jsonBytes(kept))
    kept = kept.slice(0, Math.floor((kept.length * VALIDATOR_BODY_JSON_MAX_BYTES) / size) - 1).toWellFormed()
  return { text: kept, isCut: kept.length < text.length }
}

function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text))
}
