/** Runs of a resolver: made, listed, told of, renamed, paused, resumed, stopped (spec, Endpoints; R6, R9). */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { fail } from '../../core/errors.ts'
import type { InstanceRecord, Payload } from '../../core/index.ts'
import { covers } from '../../core/protocol/http.ts'
import { toldStory } from '../access/visibility.ts'
import { HOST_TROUBLE, RESOLVER_TROUBLE } from '../openapi/refusals.ts'
import { object, shape } from '../openapi/shapes.ts'
import { settled } from '../request/kept-outcome.ts'
import { type AppParts, callerOf } from '../request/parts.ts'
import { sendJson } from '../request/send-json.ts'
import { listRoutes } from './list.ts'

export const ID = {
  params: object({ id: { type: 'string', description: 'The instance', examples: ['0123456789ab'] } }),
}

interface OfInstance {
  Params: { id: string }
}

interface CreateBody {
  resolver: string
  input: Payload
  name?: string | null
  parent_id?: string | null
  executor?: 'auto' | 'local' | 'docker'
}

const NAME = { type: ['string', 'null'], maxLength: 200, description: 'For people' }
const RECORD = { 200: { description: 'The record', content: { 'application/json': { schema: shape('Instance') } } } }

const CREATE = {
  body: {
    ...object(
      {
        resolver: { type: 'string', description: 'The name of a resolver of the catalog' },
        input: shape('Payload'),
        name: NAME,
        parent_id: { type: ['string', 'null'], maxLength: 200 },
        executor: {
          type: 'string',
          enum: ['auto', 'local', 'docker'],
          description: 'Anything but auto needs the scope admin: it leaves what the manifest says',
        },
      },
      ['name', 'parent_id', 'executor'],
    ),
    additionalProperties: false,
  },
  response: {
    202: {
      description: 'It is on disk, and will be run',
      headers: { Location: { type: 'string', description: 'Where its record is' } },
      content: { 'application/json': { schema: shape('Instance') } },
    },
  },
}

const STOP_BODY = {
  type: ['object', 'null'],
  properties: {
    reason: { type: 'string', maxLength: 1_000 },
    force: { type: 'boolean', description: 'Kill the worker at once' },
  },
}

export function instanceRoutes(app: FastifyInstance, parts: AppParts): void {
  const { platform } = parts
  const tags = ['instances']
  listRoutes(app, parts)

  app.post<{ Body: CreateBody }>(
    '/instances',
    {
      schema: { summary: 'Create an instance', tags, ...CREATE },
      config: {
        needs: 'run',
        refuses: [
          ...(['form_invalid', 'resolver_unknown', 'feature_missing', 'docker_unreachable', 'image_missing'] as const),
          ...RESOLVER_TROUBLE,
          ...HOST_TROUBLE,
        ],
      },
    },
    async (request, reply) => {
      const { executor = 'auto' } = request.body
      refuseExecutor(request, executor)
      const chosen = request.held === null ? {} : { instance_id: request.held.instanceId }
      const record = await platform.create({ ...request.body, executor, ...chosen })
      reply.code(202).header('location', `/api/instances/${record.instance_id}`)
      return record
    },
  )

  app.get<OfInstance>(
    '/instances/:id',
    {
      schema: { summary: 'Read an instance', tags, ...ID, response: RECORD },
      config: { needs: 'read', refuses: ['instance_unknown', 'journal_broken'] },
    },
    async ({ params }) => platform.record(params.id),
  )

  app.patch<OfInstance & { Body: { name: string | null } }>(
    '/instances/:id',
    {
      schema: {
        ...{ summary: 'Rename an instance', tags, ...ID, response: RECORD },
        body: { ...object({ name: NAME }), additionalProperties: false },
      },
      config: { needs: 'run', refuses: ['instance_unknown', 'disk_full'] },
    },
    async ({ params, body }) => platform.rename(params.id, body.name),
  )

  app.get<OfInstance>(
    '/instances/:id/story',
    {
      schema: {
        ...{ summary: 'Read what its events tell', tags, ...ID },
        response: { 200: { description: 'The story', content: { 'application/json': { schema: shape('Story') } } } },
      },
      config: { needs: 'read', refuses: ['instance_unknown', 'journal_broken'] },
    },
    async (request) => toldStory(await platform.story(request.params.id), callerOf(request).isOwner),
  )

  app.get<OfInstance>(
    '/instances/:id/state',
    {
      schema: {
        ...{ summary: 'Read its state snapshot', tags, ...ID },
        response: {
          200: {
            description: 'What the resolver wrote last; null before it wrote any',
            content: { 'application/json': { schema: { type: ['object', 'null'] } } },
          },
        },
      },
      config: { needs: 'read', refuses: ['instance_unknown'] },
    },
    async ({ params }, reply) => sendJson(reply, await platform.state(params.id)),
  )

  type Act = (request: FastifyRequest<OfInstance>) => Promise<InstanceRecord>
  const act = (name: 'pause' | 'resume', summary: string, run: Act) =>
    app.post<OfInstance>(
      `/instances/:id/${name}`,
      {
        schema: { summary, tags, ...ID, response: RECORD },
        config: {
          needs: 'run',
          refuses: ['instance_unknown', 'invalid_state', 'resume_unsupported', ...HOST_TROUBLE],
        },
      },
      (request) => settled(request, platform, name, () => run(request)),
    )

  act('pause', 'Ask for a pause', ({ params }) => platform.pause(params.id))
  act('resume', 'Go on from a pause', ({ params }) => platform.resume(params.id))

  app.post<OfInstance & { Body: { reason?: string; force?: boolean } | null | undefined }>(
    '/instances/:id/stop',
    {
      schema: { summary: 'Ask for a graceful stop', tags, ...ID, body: STOP_BODY, response: RECORD },
      config: {
        needs: 'run',
        bodyOptional: true,
        refuses: ['instance_unknown', 'invalid_state', ...HOST_TROUBLE],
      },
    },
    (request) => settled(request, platform, 'stop', () => platform.stop(request.params.id, request.body ?? {})),
  )

  app.delete<OfInstance>(
    '/instances/:id',
    {
      schema: { summary: 'Cancel an instance', tags, ...ID, response: RECORD },
      config: { needs: 'run', refuses: ['instance_unknown', 'invalid_state', ...HOST_TROUBLE] },
    },
    async ({ params }) => platform.cancel(params.id),
  )
}

function refuseExecutor(request: FastifyRequest, executor: string): void {
  const { scope } = callerOf(request)
  if (executor !== 'auto' && !covers(scope, 'admin')) throw fail('scope_missing', { needed: 'admin', has: scope })
}
