/** A home that is served on a port, with tokens and sign-in links, as `serve` does it; and raw bytes on its connection. */
import { rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { openTokens, type Tokens } from '../../src/core/index.ts'
import { tokenAccess } from '../../src/server/access/access.ts'
import { type GuardOptions, hostGuard } from '../../src/server/access/guard.ts'
import { openSignIn, type SignIn } from '../../src/server/access/sign-in.ts'
import { buildApp } from '../../src/server/app.ts'
import { fixture } from '../support/fixtures.ts'
import { created, temporaryHome } from '../support/instances.ts'
import { platformOn } from '../support/platforms.ts'
import { exchange } from './raw.ts'

export interface Route {
  method: string
  url: string
  needs: string
  narrows: boolean
}

export interface Served {
  home: string
  port: number
  url: string
  tokens: Tokens
  signIn: SignIn
  /** Every route as it was registered, but those that only answer HEAD. */
  routes: Route[]
  /** Sends a request with exactly these header lines, and `Connection: close`. */
  ask(target: string, lines?: readonly string[], options?: { method?: string; body?: string }): Promise<Answer>
  newInstance(): Promise<string>
  end(): Promise<void>
}

export interface Answer {
  status: number
  /** Lower case. */
  headers: Headers
  text: string
  body: Record<string, unknown>
}

export async function serveHome(guard: GuardOptions = {}): Promise<Served> {
  const home = temporaryHome()
  const platform = await platformOn(home)
  const tokens = openTokens(home)
  const signIn = await openSignIn(tokens)
  const routes: Route[] = []
  const app = await buildApp({
    ...{ platform, access: tokenAccess(tokens), guard: hostGuard(guard), signIn, uploads: true },
    observe: (seen) => {
      seen.addHook('onRoute', ({ method, url, config }) => {
        const { needs = 'admin', narrows = false } = config ?? {}
        for (const one of [method].flat()) if (one !== 'HEAD') routes.push({ method: one, url, needs, narrows })
      })
    },
  })
  const server = createServer({ requireHostHeader: false }, (request, response) => app.routing(request, response))
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  const host = `Host: 127.0.0.1:${port}`
  return {
    ...{ home, port, url: `http://127.0.0.1:${port}`, tokens, signIn, routes },
    async ask(target, lines = [], { method = 'GET', body } = {}) {
      const all = lines.some((line) => /^-?host:?/i.test(line))
        ? lines.filter((line) => line !== '-host')
        : [host, ...lines]
      const sized = body === undefined ? all : [...all, `Content-Length: ${Buffer.byteLength(body)}`]
      const head = [`${method} ${target} HTTP/1.1`, ...sized, 'Connection: close'].join('\r\n')
      return toAnswer(await exchange(port, `${head}\r\n\r\n${body ?? ''}`))
    },
    newInstance: () => created(home, fixture('asks-once')),
    async end() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
      await app.close()
      await signIn.close()
      await platform.close()
      rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
    },
  }
}

function toAnswer(heard: string): Answer {
  const at = heard.indexOf('\r\n\r\n')
  const [first = '', ...lines] = heard.slice(0, at).split('\r\n')
  const headers = new Headers(
    lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]),
  )
  const text = heard.slice(at + 4)
  const isJson = headers.get('content-type')?.startsWith('application/json') === true && text.startsWith('{')
  return { status: Number(first.split(' ')[1]), headers, text, body: isJson ? JSON.parse(text) : {} }
}
