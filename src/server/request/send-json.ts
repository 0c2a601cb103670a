/** Sends JSON unchanged, also for values that the framework would treat as "no body", and for text that is JSON already. */
import type { FastifyReply } from 'fastify'

export const JSON_TYPE = 'application/json; charset=utf-8'

export function sendJson(reply: FastifyReply, value: unknown): FastifyReply {
  return sendText(reply, JSON.stringify(value ?? null))
}

export function sendText(reply: FastifyReply, json: string): FastifyReply {
  return reply
    .type(JSON_TYPE)
    .serializer((text: unknown) => text as string)
    .send(json)
}
