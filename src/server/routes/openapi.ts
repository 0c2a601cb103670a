/** GET /openapi.json: the document of the API, made from its routes. */
import type { FastifyInstance } from 'fastify'

export function openapiRoutes(app: FastifyInstance): void {
  app.get(
    '/openapi.json',
    {
      schema: {
        ...{ summary: 'Read this document', tags: ['server'] },
        response: {
          200: { description: 'OpenAPI 3.1', content: { 'application/json': { schema: { type: 'object' } } } },
        },
      },
      config: { needs: 'read', narrows: true },
    },
    async () => app.swagger(),
  )
}
