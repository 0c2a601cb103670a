/** GET /instances/{id}/events: the journal of an instance as a stream of server-sent events (spec, Events; R15). */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { fail } from '../../core/errors.ts'
import type { HeldFeed } from '../../core/index.ts'
import type { Access } from '../access/access.ts'
import { acceptsGzip } from '../http/compression.ts'
import { EventStreams } from '../http/sse.ts'
import { credentialsOf } from '../request/entry.ts'
import type { Handlers } from '../request/operations.ts'

export interface EventParts {
  platform: { feed(id: string): HeldFeed; transcriptSizes(id: string): Promise<Record<string, number>> }
  access?: Access
  /** Default: a registry of its own. */
  streams?: EventStreams
}

/** Streams end when `app` closes; their readers can continue from the same place. */
export function eventHandlers(app: FastifyInstance, parts: EventParts) {
  const streams = parts.streams ?? new EventStreams()
  app.addHook('preClose', async () => streams.close())
  return {
    getInstanceEvents: ({ params, query, request, reply }) => {
      const after = cursorOf(request, query.after)
      const tokenId = request.caller?.tokenId ?? null
      streams.admit(tokenId)
      const held = parts.platform.feed(params.id)
      try {
        const offset = held.feed.cursor(after)
        const onBreak = (error: unknown) => request.log.error({ err: error }, 'an event stream broke off')
        const follow = query.follow !== 'false'
        const mayStay = () => isStillGood(request, parts.access)
        const news = query.transcripts === 'true' ? transcriptNews(() => parts.platform.transcriptSizes(params.id)) : {}
        // A replay is compressed. An open stream is not: each reader would hold a compressor, and each event would wait for it.
        const isZipped = !follow && acceptsGzip(request.headers['accept-encoding'])
        const wish = { offset, follow, limit: query.limit ?? Number.POSITIVE_INFINITY, isZipped, tokenId }
        streams.open(reply.raw, { ...held, ...wish, mayStay, onBreak, ...news }, headersOf(reply))
        return reply.hijack()
      } catch (error) {
        held.release()
        throw error
      }
    },
  } satisfies Partial<Handlers>
}

function transcriptNews(sizes: () => Promise<Record<string, number>>) {
  const news = async () => {
    const found = await sizes()
    return Object.keys(found).length === 0 ? undefined : `event: transcripts\ndata: ${JSON.stringify(found)}\n\n`
  }
  return { news }
}

/** A token that was revoked or has expired also ends the streams that it opened before. */
function isStillGood(request: FastifyRequest, access: Access | undefined): boolean {
  try {
    access?.identify(credentialsOf(request))
    return true
  } catch {
    return false
  }
}

/** The number after which the stream begins. A reconnecting browser sends the header, and the same address as before. */
function cursorOf(request: FastifyRequest, after: string | undefined): number {
  const header = request.headers['last-event-id']
  const cursor = (header === '' ? undefined : header) ?? after ?? '0'
  if (typeof cursor !== 'string' || !/^\d{1,15}$/.test(cursor)) throw fail('cursor_unknown', { cursor: shown(cursor) })
  return Number(cursor)
}

function shown(cursor: unknown): string {
  return String(cursor).slice(0, 40)
}

/** The headers that every answer has are sent with this one too. */
function headersOf(reply: FastifyReply): Record<string, string> {
  const all = Object.entries(reply.getHeaders())
  return Object.fromEntries(all.flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])))
}
