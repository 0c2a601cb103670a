/** Opens the git server on its directories: sweeps, reads what it knows, then opens its two doors. The program calls it. */
import { chmodSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { fail } from '../core/errors.ts'
import { GIT_SERVER_CONNECTIONS_MAX, GIT_TRANSFER_LIMIT_MS, PROMOTION_WAIT_MS } from '../core/limits.ts'
import { accessFrom } from './doors/access.ts'
import { type Door, listenerOf } from './doors/door.ts'
import { Transfers } from './doors/git-http.ts'
import { writeHooks } from './doors/hook-files.ts'
import { HostCalls } from './doors/host-calls.ts'
import { Feed } from './pulls/feed.ts'
import { settleMerges } from './pulls/merge-pull.ts'
import { Promotions } from './pulls/promotions.ts'
import { PullStore } from './pulls/pull-store.ts'
import type { GitService } from './pulls/service.ts'
import { setHooksPath } from './repository/git.ts'
import { endOrphans } from './repository/orphans.ts'
import { Repositories } from './repository/repositories.ts'
import { sweep } from './repository/sweep.ts'

export interface GitServerOptions {
  /** The bare repositories, `<name>.git` each. */
  repos: string
  /** `tokens.json`, `pulls.jsonl` and the host's socket `s`. */
  state: string
  host: string
  port: number
  /** How clients reach it; undefined: the address it listens on. */
  baseUrl: string | undefined
}

export interface OpenGitServer {
  port: number
  baseUrl: string
  /** Ends when the server was told to end. */
  over: Promise<void>
  close: () => Promise<void>
}

const SOCKET = 's'

export async function openGitServer(options: GitServerOptions): Promise<OpenGitServer> {
  // The path of a socket may have 107 bytes; from its own directory it has one.
  process.chdir(options.state)
  if (await isAnswered(SOCKET)) throw fail('git_server_failed', { reason: 'another one runs on this directory' })
  setHooksPath(writeHooks(options.state))
  const repositories = new Repositories(options.repos)
  await endOrphans(options.repos)
  await sweep(repositories.all())
  const store = await PullStore.open(join(options.state, 'pulls.jsonl'))
  const feed = new Feed(store)
  const service: GitService = { repositories, store, feed, promotions: new Promotions(feed), baseUrl: '' }
  await settleMerges(service)

  const over = Promise.withResolvers<void>()
  const transfers = new Transfers(service)
  const access = accessFrom(join(options.state, 'tokens.json'))
  const host = new HostCalls(service, () => void close())
  const workers = serverOf({ service, access, transfers })
  const hosts = serverOf({ service, access, transfers, host })
  const port = await listen(workers, options.host, options.port)
  service.baseUrl = (options.baseUrl ?? `http://${options.host}:${port}`).replace(/\/+$/, '')
  rmSync(SOCKET, { force: true })
  await listenAt(hosts, SOCKET)
  chmodSync(SOCKET, 0o600)

  let closing: Promise<void> | undefined
  const close = (): Promise<void> => {
    closing ??= (async () => {
      host.close()
      transfers.close()
      await Promise.all([workers, hosts].map(shut))
      await store.close()
      over.resolve()
    })()
    return closing
  }
  return { port, baseUrl: service.baseUrl, over: over.promise, close }
}

function serverOf(door: Door): Server {
  const server = createServer(listenerOf(door))
  server.maxConnections = GIT_SERVER_CONNECTIONS_MAX
  server.requestTimeout = GIT_TRANSFER_LIMIT_MS
  // A promotion is silent until the host has answered.
  server.timeout = 2 * PROMOTION_WAIT_MS
  return server
}

async function listen(server: Server, host: string, port: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  server.listen(port, host, resolve)
  await promise
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : port
}

async function listenAt(server: Server, path: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  server.listen(path, resolve)
  await promise
}

const CLOSE_AFTER_MS = 3_000

async function shut(server: Server): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  server.close(() => resolve())
  server.closeIdleConnections()
  const timer = setTimeout(() => server.closeAllConnections(), CLOSE_AFTER_MS)
  await promise
  clearTimeout(timer)
}

async function isAnswered(path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect(path)
  socket.on('connect', () => resolve(true))
  socket.on('error', () => resolve(false))
  const isThere = await promise
  socket.destroy()
  return isThere
}
