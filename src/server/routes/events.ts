/** GET /instances/{id}/events: the journal of an instance as a stream of server-sent events (spec, Events; R15). */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { fail } from '../../core/errors.ts'
import type { HeldFeed } from '../../core/index.ts'
import type { Access } from '../access/access.ts'
import { EventStreams } from '../http/sse.ts'
import { credentialsOf } from '../request/entry.ts'

export interface EventParts {
  platform: { feed(id: string): HeldFeed }
  access?: Access
  /** Its own by default. */
  streams?: EventStreams
}

interface EventsQuery {
  token?: string
  after?: string
  follow?: string
}

const params = {
  type: 'object',
  required: ['id'],
  properties: { id: { type: 'string', description: 'The instance' } },
}

const querystring = {
  type: 'object',
  properties: {
    token: { type: 'string', description: 'The access token, where no header can be sent' },
    after: { type: 'string', description: 'Only events with a greater number; the header Last-Event-ID wins over it' },
    follow: {
      type: 'string',
      enum: ['true', 'false'],
      description: 'false: end after what there is now, without the closing {"type":"done"}',
    },
  },
}

const headers = {
  type: 'object',
  properties: { 'last-event-id': { type: 'string', description: 'The number of the last event the reader has' } },
}

const response = {
  200: {
    description: 'Each event as `id: NUMBER` and `data: ENVELOPE`; at the end of the instance `data: {"type":"done"}`',
    content: { 'text/event-stream': { schema: { type: 'string' } } },
  },
}

/** Streams end when `app` closes; their readers can go on where they were. */
export function eventRoutes(app: FastifyInstance, parts: EventParts): void {
  const streams = parts.streams ?? new EventStreams()
  app.addHook('preClose', async () => streams.close())
  app.get<{ Params: { id: string }; Querystring: EventsQuery }>(
    '/instances/:id/events',
    {
      // A HEAD would be a stream nobody reads.
      exposeHeadRoute: false,
      config: { needs: 'read', refuses: ['instance_unknown', 'cursor_unknown', 'too_many'] },
      schema: {
        summary: 'Follow the events of an instance',
        tags: ['instances'],
        params,
        querystring,
        headers,
        response,
      },
    },
    (request, reply) => {
      const after = cursorOf(request)
      const tokenId = request.caller?.tokenId ?? null
      streams.admit(tokenId)
      const held = parts.platform.feed(request.params.id)
      try {
        const offset = held.feed.cursor(after)
        const onBreak = (error: unknown) => request.log.error({ err: error }, 'an event stream broke off')
        const follow = request.query.follow !== 'false'
        const mayStay = () => isStillGood(request, parts.access)
        streams.open(reply.raw, { ...held, offset, follow, tokenId, mayStay, onBreak }, headersOf(reply))
        reply.hijack()
      } catch (error) {
        held.release()
        throw error
      }
    },
  )
}

/** A token that was revoked, or whose time is over, opens no door that it opened before either. */
function isStillGood(request: FastifyRequest, access: Access | undefined): boolean {
  try {
    access?.identify(credentialsOf(request))
    return true
  } catch {
    return false
  }
}

/** The number after which the stream begins. A browser that comes back sends the header, and the same address as before. */
function cursorOf(request: FastifyRequest<{ Querystring: EventsQuery }>): number {
  const header = request.headers['last-event-id']
  const cursor = (header === '' ? undefined : header) ?? request.query.after ?? '0'
  if (typeof cursor !== 'string' || !/^\d{1,15}$/.test(cursor)) throw fail('cursor_unknown', { cursor: shown(cursor) })
  return Number(cursor)
}

function shown(cursor: unknown): string {
  return String(cursor).slice(0, 40)
}

/** What was set for every answer goes out with this one too. */
function headersOf(reply: FastifyReply): Record<string, string> {
  const all = Object.entries(reply.getHeaders())
  return Object.fromEntries(all.flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])))
}
