/** A journal that grows under a test's hand, served as event streams over a real port, and readers that record what they got. */
import { appendFileSync, mkdtempSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { fastify } from 'fastify'
import { ResolveError } from '../../src/core/errors.ts'
import { JournalFeeds } from '../../src/core/platform/journal/journal-feed.ts'
import type { CreationRecord } from '../../src/core/protocol/journal.ts'
import { creationLine } from '../../src/core/store/journal-line.ts'
import { JournalWriter } from '../../src/core/store/journal-writer.ts'
import { EventStreams, type StreamLimits } from '../../src/server/http/sse.ts'
import { addOperations } from '../../src/server/request/operations.ts'
import { eventHandlers } from '../../src/server/routes/events.ts'

export const ID = '0123456789ab'

/** A journal of its own, with a creation and nothing else. */
export class GrowingJournal {
  readonly path = join(mkdtempSync(join(tmpdir(), 'resolve-feed-')), 'journal')
  readonly writer: JournalWriter
  /** The envelopes it holds, as they stand there: the first is number 1. */
  readonly texts: string[] = []
  hasEnded = false
  /** How often anybody asked for a host. */
  attended = 0

  constructor() {
    const creation = { schema: 'resolve.journal/1', instance_id: ID, input: {} } as unknown as CreationRecord
    writeFileSync(this.path, creationLine(creation))
    this.writer = JournalWriter.open(this.path)
  }

  /** Appends events of a resolver in one write. */
  add(count: number, data: (n: number) => Record<string, unknown> = (n) => ({ n })): void {
    const texts = Array.from({ length: count }, (_, index) =>
      envelope('fixture.tick', data(this.texts.length + index + 1)),
    )
    this.addTexts(texts)
  }

  addTexts(texts: readonly string[]): void {
    const from = this.texts.length
    this.writer.append(texts.map((text, index) => ({ text, sourceEnd: (from + index + 1) * 10 })))
    this.texts.push(...texts)
  }

  move(to: string): void {
    const text = envelope('platform.instance.status_changed', { from: 'running', to })
    this.writer.append([{ text, sourceEnd: null }])
    this.texts.push(text)
  }

  /** The move into a final status, and a record that says so. */
  finish(status = 'completed'): void {
    this.move(status)
    this.hasEnded = true
  }

  /** Bytes as a host that is killed in the middle of a line leaves them. */
  tear(): void {
    appendFileSync(this.path, `${this.texts.length + 1}\t-\t{"schema_ver`)
  }
}

export function envelope(type: string, data: Record<string, unknown>): string {
  const timestamp = '2026-01-01T00:00:00.000Z'
  return JSON.stringify({ schema_version: 1, event_type: type, instance_id: ID, data, timestamp })
}

export interface StreamServer {
  /** Of the events of {@link ID}. */
  url: string
  port: number
  feeds: JournalFeeds
  streams: EventStreams
  close(): Promise<void>
}

/** Serves one journal under {@link ID} by the real route; the header `x-token` stands for the token. */
export async function serveJournal(journal: GrowingJournal, limits: Partial<StreamLimits> = {}): Promise<StreamServer> {
  const feeds = new JournalFeeds()
  const streams = new EventStreams(limits)
  const app = fastify()
  app.decorateRequest('caller', null)
  app.addHook('onRequest', async (request) => {
    const token = request.headers['x-token']
    const caller = { tokenId: typeof token === 'string' ? token : null }
    Object.assign(request, { caller })
  })
  app.setErrorHandler((error, _request, reply) => {
    if (!(error instanceof ResolveError)) throw error
    return reply.code(error.httpStatus).send({ detail: error.outside, code: error.code })
  })
  const instance = {
    ensureHost: async () => {
      journal.attended += 1
    },
    hasEnded: () => journal.hasEnded,
  }
  const platform = { feed: (_id: string) => feeds.hold(journal.path, instance), transcriptSizes: async () => ({}) }
  await app.register(async (api) => addOperations(api, eventHandlers(api, { platform, streams })), { prefix: '/api' })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/api/instances/${ID}/events`, port, feeds, streams, close: () => app.close() }
}

/** What one reader was sent over one connection. */
export interface Reading {
  status: number
  headers: Headers
  text: string
  messages: EventSourceMessage[]
  comments: string[]
  retry: number | undefined
}

/** Reads a stream to its end with a parser that follows the standard to the letter. */
export async function readStream(url: string, headers: Record<string, string> = {}): Promise<Reading> {
  const response = await fetch(url, { headers })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, ...parse(text) }
}

export function parse(text: string): Pick<Reading, 'messages' | 'comments' | 'retry'> {
  const messages: EventSourceMessage[] = []
  const comments: string[] = []
  let retry: number | undefined
  const parser = createParser({
    onEvent: (message) => messages.push(message),
    onComment: (comment) => comments.push(comment),
    onRetry: (ms) => {
      retry = ms
    },
  })
  parser.feed(text)
  return { messages, comments, retry }
}

export const DONE = '{"type":"done"}'

/** A proxy that passes each connection on, and cuts it after as many bytes of the answer as `chance` says. */
export async function cuttingProxy(
  port: number,
  chance: () => number,
): Promise<{ port: number; cuts: () => number; close: () => void }> {
  let cuts = 0
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    let left = chance()
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        near.destroy()
      })
    }
    near.on('close', () => far.destroy())
    near.pipe(far)
    far.on('data', (bytes) => {
      const part = bytes.subarray(0, left)
      left -= part.length
      if (left > 0) near.write(part)
      else {
        cuts += 1
        near.end(part)
        far.destroy()
      }
    })
    far.on('end', () => near.end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () => {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  return { port: (server.address() as AddressInfo).port, cuts: () => cuts, close }
}

/** Numbers that look random and are the same in every run. */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
