/** Gives a POST with an Idempotency-Key one effect and one answer, however often it is sent (R11). */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { fail } from '../../core/errors.ts'
import type { Claim, KeptAnswer } from '../../core/index.ts'
import { IDEMPOTENCY_KEY_MAX_CHARS } from '../../core/limits.ts'
import { IDEMPOTENCY_KEY } from '../../core/protocol/http.ts'
import type { AppParts } from './parts.ts'
import { sendText } from './send-json.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The claim of this request's Idempotency-Key; null without one. */
    held: Claim | null
  }
}

/** What says that an answer was given before. */
export const REPLAYED = 'idempotency-replayed'

export function addIdempotency(app: FastifyInstance, { keys }: AppParts): void {
  app.decorateRequest('held', null)
  app.addHook('preHandler', async (request, reply) => {
    // What nobody in particular asks for (a sign-in) is kept for nobody: its answer is a secret.
    if (keys === undefined || request.method !== 'POST' || request.caller === null || request.is404) return
    // What only looks has no effect to keep from happening twice, and would fill the disk for whoever may only look.
    if (request.routeOptions.config.needs === 'read') return
    const key = keyOf(request)
    if (key === undefined) return
    const scope = [request.caller.tokenId ?? 'owner', request.method, pathOf(request)]
    const claimed = await keys.claim({ scope, key, body: request.body ?? null })
    if (!('status' in claimed)) request.held = claimed
    else return replay(reply, claimed)
  })
  app.addHook('onSend', async (request, reply, payload) => {
    const { held } = request
    if (held === null) return payload
    // A fault of ours is no answer: who asks again is served again, under the same names.
    if (reply.statusCode < 500) await keep(held, reply, payload)
    held.release()
    return payload
  })
  // The answer may never have been sent.
  app.addHook('onResponse', async ({ held }) => held?.release())
}

function replay(reply: FastifyReply, { status, location, body }: KeptAnswer): FastifyReply {
  reply.code(status).header(REPLAYED, 'true')
  if (location !== null) reply.header('location', location)
  if (body === null) return reply.send()
  return sendText(reply, body)
}

/** The effect is there: where its answer can't be kept, it is given all the same, and asked for again it finds the effect. */
async function keep(held: Claim, reply: FastifyReply, payload: unknown): Promise<void> {
  const location = reply.getHeader('location')
  const answer = {
    status: reply.statusCode,
    location: typeof location === 'string' ? location : null,
    body: typeof payload === 'string' && payload !== '' ? payload : null,
  }
  await held.answer(answer).catch((error: unknown) => reply.log.error(error, "An answer can't be kept"))
}

function keyOf(request: FastifyRequest): string | undefined {
  const key = request.headers[IDEMPOTENCY_KEY]
  if (key === undefined) return undefined
  if (typeof key === 'string' && key !== '' && key.length <= IDEMPOTENCY_KEY_MAX_CHARS) return key
  throw fail('request_malformed', { problem: `an Idempotency-Key has 1 to ${IDEMPOTENCY_KEY_MAX_CHARS} characters` })
}

function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0] as string
}
