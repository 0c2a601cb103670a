/** What looks after instances and their server: stderr, export, attending, pruning, the doctor. */
import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { PruneOptions } from '../../core/index.ts'
import { covers } from '../../core/protocol/http.ts'
import { STATUSES } from '../../core/protocol/status.ts'
import { visibleCreation } from '../access/visibility.ts'
import { HOST_TROUBLE } from '../openapi/refusals.ts'
import { listOf, object, shape } from '../openapi/shapes.ts'
import { type AppParts, callerOf } from '../request/parts.ts'

interface OfInstance {
  Params: { id: string }
}

const params = object({ id: { type: 'string', description: 'The instance' } })
const tags = ['instances']
const keeping = ['server']

const PRUNE = {
  type: 'object',
  properties: {
    older_than_ms: { type: 'integer', minimum: 0, description: 'Only what ended at least this long ago' },
    status: { type: 'array', items: { type: 'string', enum: [...STATUSES] } },
    dry_run: { type: 'boolean', description: 'Tell what would be removed, and remove nothing' },
  },
  required: ['older_than_ms'],
  additionalProperties: false,
}

export function keepingRoutes(app: FastifyInstance, { platform }: AppParts): void {
  app.get<OfInstance>(
    '/instances/:id/stderr',
    {
      schema: {
        ...{ summary: "Read the end of its worker's stderr", tags, params },
        response: {
          200: { description: 'As it was written', content: { 'text/plain': { schema: { type: 'string' } } } },
        },
      },
      config: { needs: 'run', refuses: ['instance_unknown'] },
    },
    async ({ params: { id } }, reply) => {
      const text = await platform.stderrTail(id)
      return reply.type('text/plain; charset=utf-8').send(text)
    },
  )

  app.get<OfInstance>(
    '/instances/:id/export',
    {
      schema: {
        ...{ summary: 'Export all that is known of it', tags, params },
        response: {
          200: {
            description: "A gzip'd tar, without secrets",
            content: { 'application/gzip': { schema: { type: 'string', contentMediaType: 'application/gzip' } } },
          },
        },
      },
      config: { needs: 'read', refuses: ['instance_unknown', 'journal_broken'] },
    },
    async (request, reply) => {
      const { id } = request.params
      const { isOwner, scope } = callerOf(request)
      // No more than the other routes would tell this caller.
      const archive = await platform.export(id, {
        stderr: covers(scope, 'run'),
        ...(isOwner ? {} : { tell: visibleCreation }),
      })
      reply.header('content-disposition', `attachment; filename="resolve-${id}.tar.gz"`)
      return reply.type('application/gzip').send(Readable.from(archive))
    },
  )

  app.get<OfInstance>(
    '/instances/:id/host',
    {
      schema: {
        ...{ summary: 'Tell whether a live host owns it', tags, params },
        response: {
          200: { description: 'It looks, and starts none', content: { 'application/json': { schema: shape('Host') } } },
        },
      },
      config: { needs: 'read', refuses: ['instance_unknown'] },
    },
    async ({ params: { id } }) => ({ attended: await platform.hasHost(id) }),
  )

  app.post<OfInstance>(
    '/instances/:id/attend',
    {
      schema: {
        ...{ summary: 'See to it that a live host owns it', tags, params },
        response: { 204: { description: 'One does, or it needs none', type: 'null' } },
      },
      config: { needs: 'run', refuses: ['instance_unknown', ...HOST_TROUBLE] },
    },
    async ({ params: { id } }, reply) => {
      await platform.ensureHost(id)
      return reply.code(204).send()
    },
  )

  app.post<{ Body: PruneOptions }>(
    '/prune',
    {
      schema: {
        ...{ summary: 'Remove instances that have ended', tags: keeping, body: PRUNE },
        response: {
          200: { description: 'What was removed', content: { 'application/json': { schema: shape('PruneOutcome') } } },
        },
      },
      config: { needs: 'admin', refuses: ['lock_held'] },
    },
    async ({ body }) => platform.prune(body),
  )

  const rows = {
    200: { description: 'Each check, in order', content: { 'application/json': { schema: listOf('HealthRow') } } },
  }

  app.get(
    '/doctor',
    {
      schema: { summary: 'Look after the machine and the home', tags: keeping, response: rows },
      config: { needs: 'admin' },
    },
    async () => platform.health(),
  )

  app.post<{ Body: { fix?: boolean } | null | undefined }>(
    '/doctor',
    {
      schema: {
        ...{ summary: 'Look after them, and mend what is safe to mend', tags: keeping, response: rows },
        body: { type: ['object', 'null'], properties: { fix: { type: 'boolean' } } },
      },
      config: { needs: 'admin', bodyOptional: true },
    },
    async ({ body }) => platform.health({ fix: body?.fix ?? false }),
  )
}
