/** Sends any JSON value as such; the framework takes null for "no body". */
import type { FastifyReply } from 'fastify'

export function sendJson(reply: FastifyReply, value: unknown): FastifyReply {
  return reply
    .type('application/json')
    .serializer((text: unknown) => text as string)
    .send(JSON.stringify(value ?? null))
}
