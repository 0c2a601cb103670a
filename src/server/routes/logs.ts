/** GET /instances/{id}/logs: a page of what a worker printed and logged, at once or when there is a new line (R40, R41). */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { fail } from '../../core/errors.ts'
import { LOG_WAITING_OF_TOKEN_MAX } from '../../core/limits.ts'
import type { QueryOf } from '../../core/protocol/api/operations.ts'
import { LOG_SOURCES, type LogLine, type LogPage, type LogSource } from '../../core/protocol/log.ts'
import { indentedText } from '../../core/view/clean.ts'
import type { Handlers } from '../request/operations.ts'
import type { AppParts } from '../request/parts.ts'
import { Places } from '../request/places.ts'

/** Waiting requests are answered when `app` closes or their caller has gone. */
export function logHandlers(app: FastifyInstance, { platform }: AppParts) {
  const closing = new AbortController()
  const waiting = new Places('waiting log requests', { ofToken: LOG_WAITING_OF_TOKEN_MAX })
  app.addHook('preClose', async () => closing.abort())
  return {
    getInstanceLogs: async ({ params, query, request, reply }) => {
      const { wait = 0, format = 'json', source, since, ...rest } = query
      const chosen = {
        ...rest,
        ...(since === undefined ? {} : { since: timeOf(since) }),
        ...(source === undefined ? {} : { sources: sourcesOf(source) }),
      }
      const gone = new AbortController()
      const onClose = () => gone.abort()
      const leave = wait > 0 ? waiting.enter(request.caller?.tokenId ?? null) : () => {}
      reply.raw.once('close', onClose)
      let page: LogPage
      try {
        const signal = AbortSignal.any([closing.signal, gone.signal])
        page = await platform.logs(params.id, { ...chosen, waitMs: wait * 1_000, signal })
      } finally {
        reply.raw.off('close', onClose)
        leave()
      }
      reply.header('cache-control', 'no-store')
      if (!page.ended) reply.header('link', `<${nextUrl(request, page.next)}>; rel="next"`)
      return format === 'json' ? page : send(reply, page, format)
    },
  } satisfies Partial<Handlers>
}

function send(reply: FastifyReply, { lines }: LogPage, format: 'jsonl' | 'text'): FastifyReply {
  const type = format === 'text' ? 'text/plain; charset=utf-8' : 'application/x-ndjson; charset=utf-8'
  const toText = format === 'text' ? textOf : (line: LogLine) => JSON.stringify(line)
  return reply.type(type).send(lines.map((line) => `${toText(line)}\n`).join(''))
}

/** The time in UTC, because the reader may be in another zone than the server. Safe to show in a terminal. */
function textOf({ at, source, level, text }: LogLine): string {
  return indentedText(`${at} ${level ?? source} ${text}`)
}

function timeOf(since: string): string {
  const ms = Date.parse(since)
  if (Number.isNaN(ms)) throw fail('request_invalid', { problem: 'since is not an ISO-8601 time' })
  return new Date(ms).toISOString()
}

function sourcesOf(given: QueryOf<'getInstanceLogs'>['source'] = []): LogSource[] {
  return given
    .flatMap((text) => text.split(','))
    .map((word) => {
      const source = LOG_SOURCES.find((one) => one === word)
      if (source !== undefined) return source
      throw fail('request_invalid', {
        problem: `"${word.slice(0, 40)}" is no source; it is one of ${LOG_SOURCES.join(', ')}`,
      })
    })
}

/** The same request from there on. */
function nextUrl({ url }: FastifyRequest, next: number): string {
  const [path, text = ''] = url.split('?', 2)
  const query = new URLSearchParams(text)
  for (const name of ['tail', 'since', 'token']) query.delete(name)
  query.set('after', String(next))
  return `${path}?${query}`
}
