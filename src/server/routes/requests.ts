/** What an instance asks, and its answers (spec, Endpoints; R25, R28). */
import type { FastifyInstance } from 'fastify'
import { fail } from '../../core/errors.ts'
import type { Payload } from '../../core/index.ts'
import type { RequestStatus } from '../../core/protocol/instance.ts'
import { HOST_TROUBLE } from '../openapi/refusals.ts'
import { listOf, object, shape } from '../openapi/shapes.ts'
import { type AppParts, actorOf } from '../request/parts.ts'

const id = { type: 'string', description: 'The instance' }
const rid = { type: 'string', description: 'The question' }

interface OfRequest {
  Params: { id: string; rid: string }
}

export function requestRoutes(app: FastifyInstance, { platform }: AppParts): void {
  const tags = ['questions']

  app.get<{ Params: { id: string }; Querystring: { status?: RequestStatus } }>(
    '/instances/:id/input-requests',
    {
      schema: {
        ...{ summary: 'List its questions', tags, params: object({ id }) },
        querystring: {
          type: 'object',
          properties: { status: { type: 'string', enum: ['pending', 'answered', 'cancelled'] } },
        },
        response: {
          200: { description: 'In their order', content: { 'application/json': { schema: listOf('InputRequest') } } },
        },
      },
      config: { needs: 'read', refuses: ['instance_unknown', 'request_invalid', 'journal_broken'] },
    },
    async ({ params, query }) => platform.inputRequests(params.id, query.status),
  )

  app.get<OfRequest>(
    '/instances/:id/input-requests/:rid',
    {
      schema: {
        ...{ summary: 'Read a question', tags, params: object({ id, rid }) },
        response: {
          200: { description: 'The question', content: { 'application/json': { schema: shape('InputRequest') } } },
        },
      },
      config: { needs: 'read', refuses: ['instance_unknown', 'request_unknown', 'journal_broken'] },
    },
    async ({ params }) => {
      const all = await platform.inputRequests(params.id)
      const found = all.find((one) => one.id === params.rid)
      if (found === undefined) throw fail('request_unknown', { request: params.rid, instance: params.id })
      return found
    },
  )

  app.post<OfRequest & { Body: Payload }>(
    '/instances/:id/input-requests/:rid',
    {
      schema: {
        ...{ summary: 'Answer a question', tags, params: object({ id, rid }), body: shape('Payload') },
        description: 'The first valid answer wins.',
        response: { 204: { description: 'The answer is on disk, and will be delivered', type: 'null' } },
      },
      config: {
        needs: 'run',
        refuses: [
          ...(['instance_unknown', 'request_unknown', 'form_invalid', 'invalid_state'] as const),
          ...(['already_answered', 'request_cancelled'] as const),
          ...HOST_TROUBLE,
        ],
      },
    },
    async (request, reply) => {
      const { params, body } = request
      await platform.answer(params.id, params.rid, body, actorOf(request))
      return reply.code(204).send()
    },
  )
}
