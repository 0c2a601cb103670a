/**
 * Gets what stands at an address, for the tool {@link file://./../tools/fetch.ts}. The address of each hop is checked when it is connected to,
 * so that no name leads into the network behind this machine (docs/sessions.md, Security). Time and size are bounded.
 */
import { type LookupAddress, type LookupOptions, lookup as lookUp } from 'node:dns'
import { Agent, type IncomingMessage, request } from 'node:http'
import { request as requestTls, Agent as TlsAgent } from 'node:https'
import { isIP } from 'node:net'
import { pipeline, type Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { FETCH_LIMIT_MS, FETCH_MAX_BYTES, FETCH_REDIRECTS_MAX } from '../../core/limits.ts'
import { isPublicAddress } from '../../core/primitives/network-addresses.ts'

export interface Page {
  /** Where it stands, after redirects. */
  url: string
  status: number
  /** Without parameters, in lower case; empty where the server says none. */
  type: string
  charset: string | undefined
  bytes: Buffer
  /** There was more. */
  isCut: boolean
}

export type Got = Page | { refused: string }

export interface GetOptions {
  /** Addresses of this machine and of private networks may be reached. */
  privateAddresses: boolean
  signal: AbortSignal
}

/** Throws errors of the network, and the signal's reason. */
export async function getPage(address: string, { privateAddresses, signal }: GetOptions): Promise<Got> {
  const late = AbortSignal.timeout(FETCH_LIMIT_MS)
  const either = AbortSignal.any([signal, late])
  let url = address
  try {
    for (let hop = 0; hop <= FETCH_REDIRECTS_MAX; hop += 1) {
      const problem = problemWith(url, privateAddresses)
      if (problem !== undefined) return { refused: problem }
      const response = await ask(new URL(url), privateAddresses, either)
      const { statusCode: status = 0, headers } = response
      const next = REDIRECTS.includes(status) ? headers.location : undefined
      if (next === undefined) return await read(url, response)
      response.destroy()
      if (!URL.canParse(next, url)) return { refused: `It leads on to what is no address: ${next.slice(0, 200)}` }
      url = new URL(next, url).href
    }
    return { refused: `It leads on more than ${FETCH_REDIRECTS_MAX} times.` }
  } catch (error) {
    signal.throwIfAborted()
    if (late.aborted) return { refused: `There was no whole answer within ${FETCH_LIMIT_MS / 1_000} s.` }
    throw error
  }
}

const REDIRECTS = [301, 302, 303, 307, 308]

function problemWith(address: string, privateAddresses: boolean): string | undefined {
  if (!URL.canParse(address)) return `"${address.slice(0, 200)}" is no address.`
  const { protocol, hostname, username, password } = new URL(address)
  if (protocol !== 'http:' && protocol !== 'https:') return `Only http and https can be fetched, not ${protocol}`
  if (username !== '' || password !== '') return 'An address with a user or password is not fetched.'
  const host = hostname.replace(/^\[|\]$/g, '')
  return privateAddresses || isIP(host) === 0 || isPublicAddress(host) ? undefined : privateProblem(host)
}

function privateProblem(host: string): string {
  return `${host} is an address of this machine or of a private network, which this session may not fetch.`
}

function ask(url: URL, privateAddresses: boolean, signal: AbortSignal): Promise<IncomingMessage> {
  const isTls = url.protocol === 'https:'
  const proxyEnv = proxyFor(isTls, privateAddresses)
  const agentOptions = proxyEnv === undefined ? {} : { proxyEnv }
  const common = {
    signal,
    headers: { accept: ACCEPTED, 'accept-encoding': 'gzip, br, deflate', 'user-agent': 'resolve' },
    // A proxy resolves names itself, and its own rules hold there.
    ...(privateAddresses || proxyEnv !== undefined ? {} : { lookup: lookUpPublic }),
  }
  return new Promise((resolve, reject) => {
    const asked = isTls
      ? requestTls(url, { ...common, agent: new TlsAgent(agentOptions) }, resolve)
      : request(url, { ...common, agent: new Agent(agentOptions) }, resolve)
    asked.once('error', reject)
    asked.end()
  })
}

const ACCEPTED = 'text/markdown, text/html;q=0.9, text/plain;q=0.9, application/json;q=0.8, */*;q=0.5'

/** Where the platform put a proxy before the network. Nothing but private addresses goes past it. */
function proxyFor(isTls: boolean, privateAddresses: boolean): NodeJS.ProcessEnv | undefined {
  const { env } = process
  const own = isTls ? (env['HTTPS_PROXY'] ?? env['https_proxy']) : (env['HTTP_PROXY'] ?? env['http_proxy'])
  if (env['NODE_USE_ENV_PROXY'] !== '1' || own === undefined || own === '') return undefined
  const past = env['NO_PROXY'] ?? env['no_proxy']
  return { HTTP_PROXY: own, HTTPS_PROXY: own, ...(privateAddresses && past !== undefined ? { NO_PROXY: past } : {}) }
}

type Found = (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void

/** The public addresses of a name: what is then connected to is what was checked. */
function lookUpPublic(host: string, options: LookupOptions, found: Found): void {
  lookUp(host, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return found(error, [])
    const usable = addresses.filter(({ address }) => isPublicAddress(address))
    const [first] = usable
    if (first === undefined) return found(new TypeError(privateProblem(host)), [])
    if (options.all === true) return found(null, usable)
    found(null, first.address, first.family)
  })
}

async function read(url: string, response: IncomingMessage): Promise<Page> {
  const { statusCode: status = 0, headers } = response
  const [type = '', ...parameters] = (headers['content-type'] ?? '').split(';').map((one) => one.trim())
  const charset = parameters.find((one) => /^charset=/i.test(one))?.slice('charset='.length)
  const decoder = DECODERS[headers['content-encoding'] ?? '']?.()
  const stream = decoder === undefined ? response : pipeline(response, decoder, () => {})
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    bytes += chunk.length
    // Leaving the loop ends the connection.
    if (bytes > FETCH_MAX_BYTES) break
  }
  return {
    ...{ url, status, charset: charset?.replaceAll('"', ''), type: type.toLowerCase() },
    bytes: Buffer.concat(chunks).subarray(0, FETCH_MAX_BYTES),
    isCut: bytes > FETCH_MAX_BYTES,
  }
}

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
}
