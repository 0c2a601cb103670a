/** A home with the resolvers of the platform's contract, and a real server on it: a port with tokens, or an owner's socket. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { IdempotencyKeys, openTokens } from '../../src/core/index.ts'
import type { LocalPlatform } from '../../src/core/platform/local/local.ts'
import type { Scope } from '../../src/core/protocol/http.ts'
import { ownerAccess, tokenAccess } from '../../src/server/access/access.ts'
import { type Guard, hostGuard, noGuard } from '../../src/server/access/guard.ts'
import { buildApp } from '../../src/server/app.ts'
import { listen } from '../../src/server/http/listen.ts'
import { platformOn } from './platforms.ts'

const FIXTURES = join(import.meta.dirname, '../fixtures/resolvers')

/** A home of its own with these fixture resolvers in its catalog. */
export async function homeWith(names: readonly string[]): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), 'resolve-served-'))
  const platform = await platformOn(home)
  const catalog = await platform.catalog()
  for (const name of names) {
    const copy = join(home, 'sources', name)
    cpSync(join(FIXTURES, name), copy, { recursive: true })
    await catalog.add(copy, { cwd: home })
  }
  await platform.close()
  return home
}

export interface Served {
  url: string
  port: number
  platform: LocalPlatform
  /** A new token of this scope. */
  token(scope?: Scope): Promise<string>
  /** Ends the server; what it hosted goes on in hosts of its own. */
  close(): Promise<void>
}

/** `port` 0: any that is free. `guarded` makes the guard of a server that is reached by another port. */
export async function serve(home: string, port = 0, guarded = (): Guard => hostGuard()): Promise<Served> {
  const platform = await platformOn(home)
  const tokens = openTokens(home)
  const keys = new IdempotencyKeys(home)
  const app = await buildApp({ platform, access: tokenAccess(tokens), guard: guarded(), keys })
  const listening = await listen(app, { host: '127.0.0.1', port })
  return {
    url: listening.url,
    port: listening.port,
    platform,
    token: async (scope = 'admin') => (await tokens.create({ scope })).token,
    close: async () => {
      // The streams of events end with the app, which the port waits for.
      await Promise.all([app.close(), listening.close()])
      await platform.close()
    },
  }
}

/** The API on a unix socket, for the owner of the home. */
export async function serveOnSocket(home: string): Promise<{ socket: string; close(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'resolve-socket-'))
  const socket = join(folder, 'host')
  const platform = await platformOn(home)
  const app = await buildApp({ platform, access: ownerAccess, guard: noGuard, keys: new IdempotencyKeys(home) })
  const server = createServer((request, reply) => app.routing(request, reply))
  await new Promise<void>((done) => server.listen(socket, done))
  return {
    socket,
    close: async () => {
      const closed = new Promise<void>((done) => server.close(() => done()))
      await app.close()
      server.closeAllConnections()
      await closed
      await platform.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
