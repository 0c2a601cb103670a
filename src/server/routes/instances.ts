/** The handlers for instances: create, read, rename, pause, resume, stop, export (spec, Endpoints; R6, R9). */
import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { fail } from '../../core/errors.ts'
import { EXPORT_RETRY_S, EXPORTS_MAX, EXPORTS_OF_TOKEN_MAX, TRAJECTORY_PIECE_BYTES } from '../../core/limits.ts'
import { covers } from '../../core/protocol/http.ts'
import { piecesOf, trajectoryLines } from '../../core/protocol/session/trajectory.ts'
import { visibleCreation, visibleStory } from '../access/visibility.ts'
import { keptOutcome } from '../request/kept-outcome.ts'
import type { Handlers } from '../request/operations.ts'
import { type AppParts, callerOf } from '../request/parts.ts'
import { Places } from '../request/places.ts'
import { JSON_TYPE } from '../request/send-json.ts'

export function instanceHandlers({ platform }: AppParts) {
  const exports = new Places('exports', { ofToken: EXPORTS_OF_TOKEN_MAX, all: EXPORTS_MAX })
  return {
    postInstances: async ({ body, request, reply }) => {
      const { executor = 'auto' } = body
      refuseExecutor(request, executor)
      const chosen = request.held === null ? {} : { instance_id: request.held.instanceId }
      const record = await platform.create({ ...body, executor, ...chosen })
      reply.header('location', `/api/instances/${record.instance_id}`)
      return record
    },

    getInstance: async ({ params }) => platform.record(params.id),

    patchInstance: async ({ params, body }) => {
      if (body.name === undefined && body.labels === undefined)
        throw fail('request_invalid', { problem: 'nothing is changed: the body has neither name nor labels' })
      return platform.edit(params.id, body)
    },

    postInstanceRetry: async ({ params, body, request, reply }) => {
      const { executor = 'auto', ...changes } = body ?? {}
      refuseExecutor(request, executor)
      refuseNarrow(request)
      const chosen = request.held === null ? {} : { instance_id: request.held.instanceId }
      const record = await platform.retry(params.id, { ...changes, executor, ...chosen })
      reply.header('location', `/api/instances/${record.instance_id}`)
      return record
    },

    deleteInstance: async ({ params }) => platform.cancel(params.id),

    getInstanceStory: async ({ params, request }) =>
      visibleStory(await platform.story(params.id), callerOf(request).isOwner),

    getInstanceState: async ({ params }) => platform.state(params.id),

    postInstancePause: ({ params, request }) =>
      keptOutcome({ request, platform, id: params.id, action: 'pause' }, () => platform.pause(params.id)),

    postInstanceResume: ({ params, body, request }) =>
      keptOutcome({ request, platform, id: params.id, action: 'resume' }, () => platform.resume(params.id, body ?? {})),

    postInstanceStop: ({ params, body, request }) =>
      keptOutcome({ request, platform, id: params.id, action: 'stop' }, () => platform.stop(params.id, body ?? {})),

    getInstanceSessions: async ({ params }) => platform.sessions(params.id),

    getInstanceSessionTranscript: async ({ params: { id, sid }, query, request, reply }) => {
      reply.header('cache-control', 'no-store')
      if (query.format !== 'atif') return platform.transcript(id, sid, query.after)
      reply.header('retry-after', String(EXPORT_RETRY_S))
      reply.raw.once('close', exports.enter(callerOf(request).tokenId))
      reply.removeHeader('retry-after')
      const { resolver_version: version } = await platform.record(id)
      const lines = trajectoryLines(
        piecesOf((after) => platform.transcript(id, sid, after, TRAJECTORY_PIECE_BYTES)),
        version,
      )
      // Before the answer begins: a session that is not known is refused.
      const first = await lines.next()
      return reply.type(JSON_TYPE).send(Readable.from(wholeLines(first.value, lines)))
    },

    getInstanceStderr: async ({ params, reply }) => {
      const text = await platform.stderrTail(params.id)
      return reply.type('text/plain; charset=utf-8').send(text)
    },

    getInstanceExport: async ({ params: { id }, request, reply }) => {
      const { isOwner, scope, tokenId } = callerOf(request)
      // A slow reader keeps its archive half made; the place is free when the answer ends or its reader has gone.
      reply.header('retry-after', String(EXPORT_RETRY_S))
      reply.raw.once('close', exports.enter(tokenId))
      reply.removeHeader('retry-after')
      // Hides what the other operations hide from this caller.
      const archive = await platform.export(id, {
        stderr: covers(scope, 'run'),
        ...(isOwner ? {} : { tell: visibleCreation }),
      })
      reply.header('content-disposition', `attachment; filename="resolve-${id}.tar.gz"`)
      return reply.type('application/gzip').send(Readable.from(archive))
    },

    getInstanceHost: async ({ params }) => {
      const state = await platform.hostState(params.id)
      return { attended: state !== 'none', ...(state === 'silent' ? { answers: false } : {}) }
    },

    postInstanceAttend: async ({ params }) => platform.ensureHost(params.id),
  } satisfies Partial<Handlers>
}

async function* wholeLines(first: string | undefined, rest: AsyncIterable<string>): AsyncGenerator<string> {
  if (first !== undefined) yield `${first}\n`
  for await (const line of rest) yield `${line}\n`
}

/** A token of one instance creates no other. */
function refuseNarrow(request: FastifyRequest): void {
  const { instance } = callerOf(request)
  if (instance !== null) throw fail('token_narrow', {})
}

function refuseExecutor(request: FastifyRequest, executor: string): void {
  const { scope } = callerOf(request)
  if (executor !== 'auto' && !covers(scope, 'admin')) throw fail('scope_missing', { needed: 'admin', has: scope })
}
