/** The catalog: its resolvers, their forms and viewports (spec, Endpoints; R9, R10). */
import type { FastifyInstance } from 'fastify'
import { fail } from '../../core/errors.ts'
import type { Payload } from '../../core/index.ts'
import { toldEntry } from '../access/visibility.ts'
import { RESOLVER_TROUBLE } from '../openapi/refusals.ts'
import { listOf, object, shape } from '../openapi/shapes.ts'
import { parseBody } from '../request/json-body.ts'
import { type AppParts, callerOf } from '../request/parts.ts'
import { sendJson } from '../request/send-json.ts'

interface OfResolver {
  Params: { name: string }
}

const params = object({ name: { type: 'string', description: 'The resolver', examples: ['hello'] } })
const tags = ['resolvers']

export function resolverRoutes(app: FastifyInstance, { platform }: AppParts): void {
  app.get(
    '/resolvers',
    {
      schema: {
        ...{ summary: 'List the resolvers', tags },
        response: {
          200: { description: 'By name', content: { 'application/json': { schema: listOf('Resolver') } } },
        },
      },
      config: { needs: 'read', refuses: ['catalog_broken'] },
    },
    async (request) => {
      const { isOwner } = callerOf(request)
      return (await platform.resolvers()).map((entry) => toldEntry(entry, isOwner))
    },
  )

  app.get<OfResolver>(
    '/resolvers/:name',
    {
      schema: {
        ...{ summary: 'Read a resolver', tags, params },
        response: {
          200: { description: 'The resolver', content: { 'application/json': { schema: shape('Resolver') } } },
        },
      },
      config: { needs: 'read', refuses: ['resolver_unknown', 'catalog_broken'] },
    },
    async (request) => toldEntry(await platform.resolver(request.params.name), callerOf(request).isOwner),
  )

  app.get<OfResolver & { Querystring: { params?: string } }>(
    '/resolvers/:name/schema',
    {
      schema: {
        ...{ summary: 'Read the form of a new instance', tags, params },
        querystring: {
          type: 'object',
          properties: {
            params: { type: 'string', description: 'What is filled in so far, as JSON', examples: ['{"name":"Ada"}'] },
          },
        },
        response: {
          200: {
            description: 'The form; null where the resolver has none',
            content: { 'application/json': { schema: { anyOf: [shape('Form'), { type: 'null' }] } } },
          },
        },
      },
      config: { needs: 'read', refuses: ['resolver_unknown', 'invalid_json', 'request_invalid', ...RESOLVER_TROUBLE] },
    },
    async (request, reply) => {
      const filled = paramsOf(request.query.params)
      return sendJson(reply, await platform.schema(request.params.name, filled))
    },
  )

  app.post<OfResolver & { Body: { input: Payload } }>(
    '/resolvers/:name/check',
    {
      schema: {
        ...{ summary: 'Check an input without creating anything', tags, params },
        body: object({ input: shape('Payload') }),
        response: {
          200: { description: 'What it says', content: { 'application/json': { schema: shape('FormCheck') } } },
        },
      },
      config: { needs: 'read', refuses: ['resolver_unknown', ...RESOLVER_TROUBLE] },
    },
    async (request) => platform.check(request.params.name, request.body.input),
  )

  app.get<OfResolver>(
    '/resolvers/:name/viewport.js',
    {
      schema: {
        ...{ summary: 'Read the module that shows its instances', tags, params },
        response: {
          200: { description: 'An ES module', content: { 'text/javascript': { schema: { type: 'string' } } } },
        },
      },
      config: { needs: 'read', refuses: ['resolver_unknown', 'file_unknown', 'catalog_broken'] },
    },
    async (request, reply) => {
      const module = await platform.viewport(request.params.name)
      return reply.type('text/javascript; charset=utf-8').send(module)
    },
  )
}

/** R10: URL-encoded JSON. */
function paramsOf(text: string | undefined): Payload {
  if (text === undefined || text === '') return {}
  const value = parseBody(Buffer.from(text), 'params')
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Payload
  throw fail('request_invalid', { problem: 'params must be an object' })
}
