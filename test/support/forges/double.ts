/**
 * Doubles of forges: an HTTP server, or a part of another one, that keeps pull requests and speaks as one forge does. Clients that others
 * wrote drive each of them too (test/forge/doubles.test.ts), so it is not our own reading alone that is tested.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Every request must carry it, in the way of the forge. */
export const FORGE_TOKEN = 'forge-token-4f1c9a7be2'

export interface KeptPull {
  number: number
  head: string
  target: string
  title: string
  body: string
  isDraft: boolean
  isOpen: boolean
  /** From a fork, whose branch has the same name. */
  isFork: boolean
  version: number
  reviewers: string[]
}

export interface Asked {
  method: string
  path: string
  query: URLSearchParams
  headers: IncomingMessage['headers']
  body: unknown
  /** `http://host:port` of the server that was asked. */
  base: string
}

export interface Reply {
  status: number
  headers?: Record<string, string>
  /** A string is sent as it is. */
  body: unknown
}

/** What a forge does with one request in place of answering as usual: an answer; to close the connection before or after the work. */
export type Fault = Reply | 'cut' | 'cut-after'

export interface Behaviour {
  pulls: KeptPull[]
  /** Refuses drafts, as repositories of some plans do. */
  noDrafts: boolean
  /** Heads without commits of their own. */
  empty: Set<string>
}

/** Undefined for paths of no interest to it. */
export type Dialect = (asked: Asked, state: Behaviour) => Reply | undefined

export interface ForgeDouble extends Behaviour {
  base: string
  asked: Asked[]
  /** Used up in their order, by requests of that method. */
  faults: { method: string; fault: Fault }[]
  /** What did not fit the description of the forge: none, in a test that passes. */
  misfits: string[]
  addPull(pull: Partial<KeptPull> & { head: string }): KeptPull
  close(): Promise<void>
}

export interface DoubleHandler extends Omit<ForgeDouble, 'base' | 'close'> {
  /** True where the request is for the forge; it answers then. */
  handle(request: IncomingMessage, response: ServerResponse): boolean
}

/** As a part of another server: `prefixes` are the paths of the API. */
export function doubleHandler(dialect: Dialect, prefixes: readonly string[] = ['/']): DoubleHandler {
  const state: Behaviour = { pulls: [], noDrafts: false, empty: new Set() }
  const handler: DoubleHandler = {
    ...state,
    asked: [],
    faults: [],
    misfits: [],
    addPull: (pull) => addPull(handler, pull),
    handle(request, response) {
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://forge')
      if (!prefixes.some((prefix) => pathname.startsWith(prefix))) return false
      answer(request, response, pathname, searchParams).catch((error: unknown) => {
        // A request or an answer that does not fit the description: it fails the test.
        response.destroy()
        handler.misfits.push(String(error))
      })
      return true
    },
  }
  const answer = async (request: IncomingMessage, response: ServerResponse, path: string, query: URLSearchParams) => {
    const text = (await request.toArray()).join('')
    const { method = '', headers } = request
    const asked = { method, path, query, headers, body: parse(text), base: `http://${headers.host}` }
    handler.asked.push(asked)
    const at = handler.faults.findIndex((one) => one.method === method)
    const fault = at === -1 ? undefined : handler.faults.splice(at, 1)[0]?.fault
    if (fault === 'cut') return void response.destroy()
    const usual = typeof fault === 'object' ? fault : dialect(asked, handler)
    if (fault === 'cut-after') return void response.destroy()
    const { status, headers: more, body } = usual ?? { status: 404, body: { message: 'Not Found' } }
    response.writeHead(status, { 'content-type': 'application/json', ...more })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }
  return handler
}

export async function openDouble(dialect: Dialect): Promise<ForgeDouble> {
  const handler = doubleHandler(dialect)
  const server = createServer((request, response) => handler.handle(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return Object.assign(handler, {
    base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  })
}

export function addPull({ pulls }: Behaviour, pull: Partial<KeptPull> & { head: string }): KeptPull {
  const kept = {
    number: pulls.length + 1,
    target: 'main',
    title: 'Untitled',
    body: '',
    isDraft: false,
    isOpen: true,
    isFork: false,
    version: 0,
    reviewers: [],
    ...pull,
  }
  pulls.push(kept)
  return kept
}

/** The open pull request of this repository that a new one would repeat. */
export function sameOpen({ pulls }: Behaviour, head: string, target: string): KeptPull | undefined {
  return pulls.find((one) => one.isOpen && !one.isFork && one.head === head && one.target === target)
}

/** One page of a list, counted from 1. */
export function pageOf<T>(all: readonly T[], page: string | null, size: string | null): { page: T[]; isLast: boolean } {
  const [at, limit] = [Number(page ?? 1), Number(size ?? 30)]
  return { page: all.slice((at - 1) * limit, at * limit), isLast: at * limit >= all.length }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
