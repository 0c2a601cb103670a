/** A whole server for a test: a home with fixture resolvers, tokens of every scope, the real app on a real port. */
import { cpSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  IdempotencyKeys,
  installedFile,
  type LocalPlatform,
  openLocalPlatform,
  openTokens,
} from '../../src/core/index.ts'
import type { InstanceRecord } from '../../src/core/protocol/instance.ts'
import type { Status } from '../../src/core/protocol/status.ts'
import { tokenAccess } from '../../src/server/access/access.ts'
import { hostGuard } from '../../src/server/access/guard.ts'
import { buildApp } from '../../src/server/app.ts'
import { listen } from '../../src/server/http/listen.ts'
import type { AppParts } from '../../src/server/request/parts.ts'
import { FIXTURES } from '../platform/contract.ts'
import { temporaryHome } from '../support/instances.ts'
import type { PlainResolver } from '../support/plain-resolver.ts'

export interface Api {
  home: string
  url: string
  port: number
  platform: LocalPlatform
  tokens: { admin: string; run: string; read: string }
  /** Faults that were told to the log. */
  faults: unknown[]
  call(method: string, path: string, options?: CallOptions): Promise<Answer>
  create(resolver: string, input?: Record<string, unknown>): Promise<string>
  until(id: string, ...statuses: Status[]): Promise<InstanceRecord>
  tokenOf(instance: string): Promise<string>
  close(): Promise<void>
}

export interface CallOptions {
  /** Sent as JSON. */
  body?: unknown
  /** Sent as it is. */
  raw?: string | Uint8Array<ArrayBuffer>
  headers?: Record<string, string>
  /** Default: admin. Null: none. */
  token?: string | null
}

export interface Answer {
  status: number
  headers: Headers
  text: string
  /** Undefined where it is no JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: a test says itself what it expects to be there.
  json: any
}

const BUILTINS = dirname(dirname(installedFile('resolvers/hello/resolver.js') as string))

export async function openApi(
  resolvers: readonly (string | PlainResolver)[] = [],
  parts: Partial<AppParts> = {},
): Promise<Api> {
  const home = temporaryHome()
  const platform = await openLocalPlatform({ home, builtins: BUILTINS })
  const catalog = await platform.catalog()
  for (const resolver of resolvers) {
    const name = typeof resolver === 'string' ? resolver : resolver.name
    const copy = join(home, 'sources', name)
    cpSync(typeof resolver === 'string' ? join(FIXTURES, name) : resolver.dir, copy, { recursive: true })
    await catalog.add(copy, { cwd: home })
  }
  const store = openTokens(home)
  const make = async (scope: 'read' | 'run' | 'admin') => (await store.create({ name: scope, scope })).token
  const tokens = { admin: await make('admin'), run: await make('run'), read: await make('read') }
  const faults: unknown[] = []
  const app = await buildApp({
    platform,
    access: tokenAccess(store),
    guard: hostGuard(),
    keys: new IdempotencyKeys(home),
    observe: (instance) => instance.addHook('onError', async (_request, _reply, error) => void faults.push(error)),
    ...parts,
  })
  const { url, port, close } = await listen(app, {
    host: '127.0.0.1',
    port: 0,
    // A test that computes for seconds would find its kept connection closed by the server at its next request.
    limits: { keepAliveMs: 120_000 },
  })

  const call: Api['call'] = async (method, path, { body, raw, headers = {}, token = tokens.admin } = {}) => {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...headers,
      },
      body: raw ?? (body === undefined ? null : JSON.stringify(body)),
    })
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, text, json: parsed(text) }
  }

  return {
    ...{ home, url, port, platform, tokens, faults, call },
    async create(resolver, input = {}) {
      const { status, text, json } = await call('POST', '/api/instances', { body: { resolver, input } })
      if (status !== 202) throw new Error(`${status} ${text}`)
      return json.instance_id
    },
    async until(id, ...statuses) {
      const signal = AbortSignal.timeout(60_000)
      for await (const { event } of platform.events(id, { follow: true, signal })) {
        const to = event.event_type === 'platform.instance.status_changed' ? event.data['to'] : undefined
        if (statuses.includes(to as Status)) return (await call('GET', `/api/instances/${id}`)).json
      }
      throw new Error(`${id} ended as ${(await platform.record(id)).status}`)
    },
    tokenOf: async (instance) => (await store.create({ name: 'one', scope: 'run', instance })).token,
    async close() {
      await close()
      // Whatever was begun here ends here.
      for (const { instance_id: id } of (await platform.list()).records) {
        await platform.stop(id, { force: true }).catch(() => {})
      }
      await Promise.all(platform.hosted().map((id) => platform.over(id)))
      await platform.releaseAndClose()
    },
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
