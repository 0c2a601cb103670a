/** A real browser on a real `serve`: what the tests of the page and its screenshots stand on. Nothing of either is played. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { installedFile, openLocalPlatform, openTokens } from '../../src/core/index.ts'
import { root } from '../house/source-files.ts'
import { temporaryHome } from '../support/instances.ts'
import type { PlainResolver } from '../support/plain-resolver.ts'

export const CHROMIUM = process.env['RESOLVE_CHROMIUM'] ?? '/usr/bin/chromium'
export const hasChromium = existsSync(CHROMIUM)

let browser: Promise<Browser> | undefined

export async function closeBrowser(): Promise<void> {
  await (await browser)?.close()
  browser = undefined
}

export interface Seen {
  context: BrowserContext
  /** What scripts and the policy complained of. */
  complaints: string[]
}

export async function openContext(options: BrowserContextOptions = {}): Promise<Seen> {
  browser ??= chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] })
  const context = await (await browser).newContext({ viewport: { width: 1280, height: 860 }, ...options })
  context.setDefaultTimeout(30_000)
  const complaints: string[] = []
  context.on('page', (page) => {
    page.on('pageerror', (error) => complaints.push(`${error}`))
    page.on('console', (message) => {
      // A server that is away, and refusals that are shown to the person, are also told to the console by the browser itself.
      const isNetwork = /Failed to load resource|net::ERR/.test(message.text())
      if (message.type() === 'error' && !isNetwork) complaints.push(message.text())
    })
  })
  return { context, complaints }
}

export interface Server {
  home: string
  url: string
  port: number
  /** The link that signs in, once. */
  signIn: string
  /** Ends it at once, as a power cut would. */
  kill(): Promise<void>
  close(): Promise<void>
}

export async function startServer(
  resolvers: readonly PlainResolver[] = [],
  home = temporaryHome(),
  port = 0,
): Promise<Server> {
  if (resolvers.length > 0) await register(home, resolvers)
  const program = join(root, 'bin', 'run.js')
  const env = { ...process.env, RESOLVE_HOME: home, RESOLVE_LOG: 'error' }
  const child = spawn(process.execPath, [program, 'serve', '--port', String(port), '--json'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const line = await firstLine(child)
  const { url, sign_in: signIn } = JSON.parse(line) as { url: string; sign_in: string }
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }
  const kill = () => end('SIGKILL')
  const close = async () => {
    await cancelAll(home, url)
    await end('SIGTERM')
  }
  return { home, url, port: Number(new URL(url).port), signIn, kill, close }
}

/** A serve leaves its workers running; a test leaves none. */
async function cancelAll(home: string, url: string): Promise<void> {
  const call = callerOf({ url }, await newToken(home))
  const active = () =>
    call<{ instance_id: string }[]>('GET', '/instances?status=created,starting,running,awaiting_input,paused&limit=500')
  for (const { instance_id: id } of await active()) {
    await call('POST', `/instances/${id}/stop`, { force: true }).catch(() => {})
  }
  for (const { instance_id: id } of await active()) await untilStatus(call, id, 'cancelled', 'completed', 'failed')
}

async function firstLine(child: ChildProcess): Promise<string> {
  let text = ''
  for await (const bytes of child.stdout ?? []) {
    text += String(bytes)
    if (text.includes('\n')) return text
  }
  throw new Error(`serve said nothing: ${text}`)
}

async function register(home: string, resolvers: readonly PlainResolver[]): Promise<void> {
  const builtins = dirname(dirname(installedFile('resolvers/hello/resolver.js') as string))
  const platform = await openLocalPlatform({ home, builtins })
  const catalog = await platform.catalog()
  for (const { dir } of resolvers) await catalog.add(dir, { cwd: root })
  await platform.close()
}

export async function newToken(
  home: string,
  scope: 'read' | 'run' | 'admin' = 'admin',
  expiresMs?: number,
): Promise<string> {
  const { token } = await openTokens(home).create({
    name: 'tester',
    scope,
    ...(expiresMs === undefined ? {} : { expiresMs }),
  })
  return token
}

/** Signed in with a token, as a returning user. */
export async function signedIn(context: BrowserContext, server: Server, token?: string): Promise<Page> {
  const mine = token ?? (await newToken(server.home))
  await context.addInitScript((kept) => {
    try {
      localStorage.setItem('resolve.token', localStorage.getItem('resolve.token') ?? kept)
    } catch {
      // A frame without an origin has no storage.
    }
  }, mine)
  const page = await context.newPage()
  await page.goto(server.url)
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
  return page
}

export type Caller = <T>(method: string, path: string, body?: unknown) => Promise<T>

/** The API beside the page, as another consumer uses it. */
export function callerOf(server: { url: string }, token: string): Caller {
  return async (method, path, body) => {
    const response = await fetch(`${server.url}/api${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return (text === '' ? undefined : JSON.parse(text)) as never
  }
}

export async function createInstance(
  call: Caller,
  resolver: string,
  input: Record<string, unknown> = {},
): Promise<string> {
  const { instance_id: id } = await call<{ instance_id: string }>('POST', '/instances', { resolver, input })
  return id
}

export async function untilStatus(call: Caller, id: string, ...statuses: string[]): Promise<void> {
  const deadline = Date.now() + 20_000
  for (;;) {
    const { status } = await call<{ status: string }>('GET', `/instances/${id}`)
    if (statuses.includes(status)) return
    if (Date.now() > deadline) throw new Error(`${id} is ${status}, not ${statuses.join(' or ')}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
