/** The host's end of the git server's socket: asks it, follows it, and relays git to it. What the server answers is untrusted. */
import { closeSync, openSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { fail } from '../errors.ts'
import { GIT_FEED_BEAT_MS, GIT_REST_BODY_MAX_BYTES } from '../limits.ts'
import { isObject } from '../primitives/is-object.ts'
import { jsonObjectIn } from '../primitives/json-object.ts'

export interface GitServerHealth {
  pid: number
  baseUrl: string
  repositories: string[]
  bytes: number
  /** The end of `pulls.jsonl`. */
  next: number
}

export type GitServerNotice =
  | { kind: 'push'; repo: string; ref: string; from: string | null; to: string | null; forced: boolean }
  | { kind: 'promotion'; id: string; repo: string; request: Record<string, unknown> }
  | { kind: 'line'; next: number; line: Record<string, unknown> }
  /** The server has nothing to tell now. The first one says that everything from here on will be told. */
  | { kind: 'beat' }

/** A path that is longer does not fit into the address of a socket. */
const SOCKET_PATH_MAX_BYTES = 100
const ANSWER_LIMIT_MS = 30_000
/** A line of `pulls.jsonl` has at most the longest body, written as JSON. */
const NOTICE_MAX_CHARS = 1024 * 1024

export class HostDoor {
  readonly #directory: string
  readonly #token: string

  /** `directory`: where the socket `s` is. */
  constructor(directory: string, token: string) {
    this.#directory = directory
    this.#token = token
  }

  /** Undefined where no server answers. Throws `git_server_failed` for an answer that is none. */
  async health(): Promise<GitServerHealth | undefined> {
    const answer = await this.#ask('GET', '/host/health').catch(() => undefined)
    if (answer === undefined) return undefined
    const { pid, base_url: baseUrl, repositories, bytes, next } = answer
    if (typeof pid !== 'number' || typeof baseUrl !== 'string' || typeof bytes !== 'number' || typeof next !== 'number')
      throw fail('git_server_failed', { reason: 'its answer is malformed' })
    const names = Array.isArray(repositories) ? repositories.filter((name) => typeof name === 'string') : []
    return { pid, baseUrl, repositories: names, bytes, next }
  }

  async addRepository(name: string, defaultBranch?: string): Promise<void> {
    await this.#ask('POST', '/host/repositories', { name, default_branch: defaultBranch })
  }

  async answerPromotion(id: string, status: number, body: Readonly<Record<string, unknown>>): Promise<void> {
    await this.#ask('POST', `/host/promotions/${encodeURIComponent(id)}`, { status, body })
  }

  async mergePull(repo: string, number: number, wish: Readonly<Record<string, unknown>>): Promise<void> {
    await this.#ask('POST', `/api/v1/repos/admin/${encodeURIComponent(repo)}/pulls/${number}/merge`, wish)
  }

  async shutDown(): Promise<void> {
    await this.#ask('POST', '/host/shutdown')
  }

  /** Everything from an offset of `pulls.jsonl` on, until the signal, or the end of the server: then it returns. */
  async *follow(from: number, signal: AbortSignal): AsyncGenerator<GitServerNotice> {
    const response = await this.#send('GET', `/host/feed?from=${from}`, undefined, signal, 3 * GIT_FEED_BEAT_MS)
    if (response.statusCode !== 200) throw fail('git_server_failed', { reason: `it answered ${response.statusCode}` })
    let rest = ''
    try {
      for await (const part of response.setEncoding('utf8')) {
        const lines = (rest + part).split('\n')
        rest = lines.pop() ?? ''
        if (rest.length > NOTICE_MAX_CHARS)
          throw fail('git_server_failed', { reason: 'it sent a line that is too long' })
        for (const line of lines) {
          const notice = parseNotice(line)
          if (notice !== undefined) yield notice
        }
      }
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (!signal.aborted && code !== 'ECONNRESET') throw error
    }
  }

  async #ask(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
    const response = await this.#send(method, path, body, AbortSignal.timeout(ANSWER_LIMIT_MS), ANSWER_LIMIT_MS)
    let text = ''
    for await (const part of response.setEncoding('utf8')) {
      text += part
      if (text.length > GIT_REST_BODY_MAX_BYTES) throw fail('git_server_failed', { reason: 'its answer is too long' })
    }
    const value = jsonObjectIn(text)
    if ((response.statusCode ?? 500) >= 400)
      throw fail('git_server_failed', { reason: String(value['message'] ?? response.statusCode).slice(0, 500) })
    return value
  }

  async #send(method: string, path: string, body: unknown, signal: AbortSignal, silenceMs: number) {
    // Each command would load it with this file, and with it Node's fetch: 15 ms.
    const { request } = await import('node:http')
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const { socketPath, close } = this.#address()
    const headers = { authorization: `token ${this.#token}`, 'content-type': 'application/json' }
    const call = request({ socketPath, method, path, headers, agent: false, signal, timeout: silenceMs }, resolve)
    call.on('timeout', () => call.destroy())
    call.on('error', reject)
    call.end(body === undefined ? undefined : JSON.stringify(body))
    try {
      return await promise
    } catch (error) {
      throw fail('git_server_failed', { reason: 'it does not answer' }, { cause: error })
    } finally {
      close()
    }
  }

  #address(): { socketPath: string; close: () => void } {
    const socketPath = join(this.#directory, 's')
    if (Buffer.byteLength(socketPath) <= SOCKET_PATH_MAX_BYTES) return { socketPath, close: () => {} }
    const fd = openSync(this.#directory, 'r')
    return { socketPath: `/proc/self/fd/${fd}/s`, close: () => closeSync(fd) }
  }

  /** For git, which knows no unix sockets: a port of loopback that leads to the socket. Who comes needs the token as well. */
  async openRelay(): Promise<{ baseUrl: string; close: () => void }> {
    const { socketPath, close: release } = this.#address()
    const server = createServer((client) => {
      const inside = connect(socketPath)
      const end = (): void => {
        client.destroy()
        inside.destroy()
      }
      client.on('error', end).on('close', end)
      inside.on('error', end).on('close', end)
      client.pipe(inside)
      inside.pipe(client)
    })
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
    await promise
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const close = (): void => {
      server.close()
      release()
    }
    return { baseUrl: `http://127.0.0.1:${port}`, close }
  }
}

/** Undefined for a notice of a kind or shape that this host does not know. Pure. */
export function parseNotice(line: string): GitServerNotice | undefined {
  const value = jsonObjectIn(line)
  const { kind, repo, ref, from, to, id, request: asked, next, line: told } = value
  const isId = (one: unknown): one is string | null =>
    one === null || (typeof one === 'string' && /^[0-9a-f]{1,64}$/.test(one))
  if (kind === 'beat') return { kind }
  if (kind === 'push' && typeof repo === 'string' && typeof ref === 'string' && isId(from) && isId(to))
    return { kind, repo, ref, from, to, forced: value['forced'] === true }
  if (kind === 'promotion' && typeof id === 'string' && typeof repo === 'string' && isObject(asked))
    return { kind, id, repo, request: asked }
  if (kind === 'line' && typeof next === 'number' && Number.isSafeInteger(next) && next > 0 && isObject(told))
    return { kind, next, line: told }
  return undefined
}
