/** What only the host asks for, at its own door: repositories, the feed, answers to promotions, the end. */
import type { ServerResponse } from 'node:http'
import { GIT_FEED_BEAT_MS } from '../../core/limits.ts'
import { isObject } from '../../core/primitives/is-object.ts'
import type { GitService } from '../pulls/service.ts'
import { Refusal } from '../repository/refusal.ts'
import { bytesBelow } from '../repository/repositories.ts'
import { json, toFields } from '../rest/call.ts'
import { respond } from './respond.ts'

export interface HostCall {
  method: string
  path: string
  query: URLSearchParams
  body: string
}

export function isHostPath(path: string): boolean {
  return path.startsWith('/host/')
}

export class HostCalls {
  readonly #service: GitService
  readonly #shutDown: () => void
  readonly #feeds = new Set<() => void>()

  constructor(service: GitService, shutDown: () => void) {
    this.#service = service
    this.#shutDown = shutDown
  }

  async answer({ method, path, query, body }: HostCall, response: ServerResponse): Promise<void> {
    const [, promotion] = /^\/host\/promotions\/([\w-]{1,100})$/.exec(path) ?? []
    const key = promotion === undefined ? `${method} ${path}` : `${method} /host/promotions`
    switch (key) {
      case 'GET /host/health':
        return respond(response, json(await this.#health()))
      case 'POST /host/repositories':
        return respond(response, json(await this.#add(toFields(parse(body))), 201))
      case 'GET /host/feed':
        return this.#feed(Number(query.get('from') ?? 0), response)
      case 'POST /host/promotions':
        return respond(response, json(this.#decide(promotion ?? '', toFields(parse(body)))))
      case 'POST /host/shutdown':
        respond(response, json({ status: 'ending' }, 202))
        this.#shutDown()
        return
      default:
        throw new Refusal(404, 'Not Found')
    }
  }

  async #health() {
    const { repositories, store, baseUrl } = this.#service
    return {
      status: 'pass',
      pid: process.pid,
      base_url: baseUrl,
      repositories: repositories.all().map(({ name }) => name),
      bytes: await bytesBelow(repositories.root),
      next: store.bytes,
    }
  }

  async #add(fields: Readonly<Record<string, unknown>>) {
    const { name, default_branch: branch } = fields
    if (typeof name !== 'string' || (branch !== undefined && typeof branch !== 'string'))
      throw new Refusal(422, 'name and default_branch are texts')
    return { name: (await this.#service.repositories.add(name, branch)).name }
  }

  #decide(id: string, fields: Readonly<Record<string, unknown>>) {
    const { status, body } = fields
    if (typeof status !== 'number' || !Number.isInteger(status) || status < 200 || status > 599 || !isObject(body))
      throw new Refusal(422, 'status is a number from 200 to 599, body an object')
    if (!this.#service.promotions.answer(id, { status, body })) throw new Refusal(404, 'no such promotion waits')
    return { status: 'answered' }
  }

  /** One JSON object a line, until either side ends it; a line `{"kind": "beat"}` where nothing else is to tell. */
  #feed(from: number, response: ServerResponse): void {
    if (!Number.isSafeInteger(from) || from < 0) throw new Refusal(422, 'from is an offset')
    response.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' })
    const tell = (notice: unknown): void => {
      // A follower that does not read is cut off, and begins again at its offset.
      if (response.writableLength > FEED_BEHIND_MAX_BYTES) response.destroy()
      else response.write(`${JSON.stringify(notice)}\n`)
    }
    for (const waiting of this.#service.promotions.waiting()) tell(waiting)
    const stop = this.#service.feed.follow(from, tell)
    const beat = setInterval(() => tell({ kind: 'beat' }), GIT_FEED_BEAT_MS)
    tell({ kind: 'beat' })
    const end = (): void => {
      clearInterval(beat)
      stop()
      this.#feeds.delete(end)
      response.end()
    }
    this.#feeds.add(end)
    response.on('close', end)
  }

  close(): void {
    for (const end of this.#feeds) end()
  }
}

const FEED_BEHIND_MAX_BYTES = 8 * 1024 * 1024

function parse(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    throw new Refusal(422, 'the body is not JSON')
  }
}
