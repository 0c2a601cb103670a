/** What an instance is told without having asked (spec, Endpoints; R9). */
import type { FastifyInstance } from 'fastify'
import type { Payload } from '../../core/index.ts'
import { HOST_TROUBLE } from '../openapi/refusals.ts'
import { listOf, object, shape } from '../openapi/shapes.ts'
import { type AppParts, actorOf } from '../request/parts.ts'

const params = object({ id: { type: 'string', description: 'The instance' } })
const querystring = {
  type: 'object',
  properties: {
    after: { type: 'integer', minimum: 0, default: 0, description: 'Only those with a greater number; the next page' },
  },
}
const tags = ['questions']

interface OfInstance {
  Params: { id: string }
}

export function messageRoutes(app: FastifyInstance, { platform }: AppParts): void {
  app.get<OfInstance>(
    '/instances/:id/message-types',
    {
      schema: {
        ...{ summary: 'List the messages it takes now', tags, params },
        response: {
          200: {
            description: 'They can change with the phase',
            content: { 'application/json': { schema: listOf('MessageType') } },
          },
        },
      },
      config: {
        needs: 'read',
        refuses: [
          ...(['instance_unknown', 'invalid_state', 'resolver_silent', 'resolver_gone', 'form_malformed'] as const),
          ...HOST_TROUBLE,
        ],
      },
    },
    async ({ params: { id } }) => platform.messageTypes(id),
  )

  app.get<OfInstance & { Querystring: { after: number } }>(
    '/instances/:id/messages',
    {
      schema: {
        ...{ summary: 'List the messages it was sent, as many as fit into a page', tags, params, querystring },
        response: {
          200: { description: 'In their order', content: { 'application/json': { schema: listOf('SentMessage') } } },
        },
      },
      config: { needs: 'read', refuses: ['instance_unknown', 'journal_broken', 'request_invalid'] },
    },
    async ({ params: { id }, query: { after } }) => platform.messages(id, { after }),
  )

  app.post<OfInstance & { Body: { message_type: string; payload: Payload } }>(
    '/instances/:id/messages',
    {
      schema: {
        ...{ summary: 'Send a message', tags, params },
        body: object({ message_type: { type: 'string' }, payload: shape('Payload') }),
        response: {
          202: { description: 'Accepted', content: { 'application/json': { schema: shape('Accepted') } } },
        },
      },
      config: {
        needs: 'run',
        refuses: [
          ...(['instance_unknown', 'message_type_unknown', 'form_invalid', 'invalid_state'] as const),
          ...(['resolver_silent', 'resolver_gone', 'form_malformed'] as const),
          ...HOST_TROUBLE,
        ],
      },
    },
    async (request, reply) => {
      const { message_type: type, payload } = request.body
      const { number } = await platform.message(request.params.id, type, payload, actorOf(request))
      reply.code(202)
      return { accepted: true, number }
    },
  )
}
