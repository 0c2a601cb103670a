/** GET /health, which asks for no token and says only whether the server answers; GET /metrics, for Prometheus (R9, R37). */
import type { FastifyInstance } from 'fastify'
import type { HealthParts } from '../request/parts.ts'

const healthSchema = {
  summary: 'Whether the server answers',
  description: 'Needs no token. `degraded`: something of its home is damaged and put aside; GET /doctor says what.',
  tags: ['server'],
  security: [],
  response: {
    200: {
      description: 'It answers',
      type: 'object',
      required: ['status'],
      properties: { status: { type: 'string', enum: ['ok', 'degraded'] } },
    },
  },
}

const metricsSchema = {
  summary: 'Read the metrics in the text format of Prometheus',
  tags: ['server'],
  response: {
    200: { description: 'The metrics', content: { 'text/plain': { schema: { type: 'string' } } } },
  },
}

export function healthRoutes(app: FastifyInstance, { health, metrics }: HealthParts): void {
  app.get('/health', { config: { needs: 'nobody' }, schema: healthSchema }, async () => health?.() ?? { status: 'ok' })
  app.get('/metrics', { config: { needs: 'read' }, schema: metricsSchema }, async (_, reply) => {
    const { text, type } = (await metrics?.read()) ?? { text: '', type: 'text/plain; charset=utf-8' }
    return await reply.type(type).send(text)
  })
}
