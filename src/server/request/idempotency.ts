/** Makes a POST with an Idempotency-Key take effect once and get one answer, however often it is sent (R11). */
import { createHash } from 'node:crypto'
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

/** The header that marks a repeated answer. */
export const REPLAYED = 'idempotency-replayed'

export function addIdempotency(app: FastifyInstance, { keys }: AppParts): void {
  app.decorateRequest('held', null)
  app.addHook('preHandler', async (request, reply) => {
    // Answers to requests without a caller (a sign-in) are not stored: they contain a secret.
    if (keys === undefined || request.method !== 'POST' || request.caller === null || request.is404) return
    // A read has no effect that could happen twice. Storing it would let callers with the scope read fill the disk.
    if (request.routeOptions.config.needs === 'read') return
    const key = keyOf(request)
    if (key === undefined) return
    const scope = [request.caller.tokenId ?? 'owner', request.method, pathOf(request)]
    const claimed = await keys.claim({ scope, key, body: bodyOf(request) })
    if (!('status' in claimed)) request.held = claimed
    else return replay(reply, claimed)
  })
  app.addHook('onSend', async (request, reply, payload) => {
    const { held } = request
    if (held === null) return payload
    // A server fault is not stored: a retry runs again, with the same key and id.
    if (reply.statusCode < 500) await keep(held, reply, payload)
    held.release()
    return payload
  })
  // The connection may have ended before the answer was sent.
  app.addHook('onResponse', async ({ held }) => held?.release())
}

function replay(reply: FastifyReply, { status, location, body }: KeptAnswer): FastifyReply {
  reply.code(status).header(REPLAYED, 'true')
  if (location !== null) reply.header('location', location)
  if (body === null) return reply.send()
  return sendText(reply, body)
}

/** The request has taken effect. Where its answer cannot be stored, it is sent all the same, and a retry finds the effect. */
async function keep(held: Claim, reply: FastifyReply, payload: unknown): Promise<void> {
  const location = reply.getHeader('location')
  const answer = {
    status: reply.statusCode,
    location: typeof location === 'string' ? location : null,
    body: typeof payload === 'string' && payload !== '' ? payload : null,
  }
  await held.answer(answer).catch((error: unknown) => reply.log.error(error, "An answer can't be kept"))
}

/** What a retry must repeat. Of an archive its digest, and what is asked beside it. */
function bodyOf({ body, query }: FastifyRequest): unknown {
  if (!Buffer.isBuffer(body)) return body ?? null
  return { archive: createHash('sha256').update(body).digest('hex'), query }
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
