/**
 * Decides which answers of the API are compressed, and compresses them with gzip. Only answers to GET are: an answer to a POST may hold a new
 * token, and the length of a compressed answer tells something about its content (threats WEB-13).
 */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { COMPRESSED_MIN_BYTES } from '../../core/limits.ts'

/** On threads of the pool: a large answer does not stop the others. */
const compressed = promisify(gzip)

/** Whether the client reads gzip: named, or any coding, and not refused with `q=0`. Pure. */
export function acceptsGzip(header: string | undefined): boolean {
  let any = false
  for (const one of (header ?? '').toLowerCase().split(',')) {
    const [coding, ...parameters] = one.split(';').map((part) => part.trim())
    const isRefused = parameters.some((parameter) => /^q=0(\.0{0,3})?$/.test(parameter))
    if (coding === 'gzip' || coding === 'x-gzip') return !isRefused
    if (coding === '*') any = !isRefused
  }
  return any
}

/** The hook must be added after those that store an answer: they need its text. */
export function addCompression(app: FastifyInstance): void {
  app.addHook('onSend', async (request, reply, payload) => {
    if (request.method !== 'GET' || typeof payload !== 'string' || reply.hasHeader('content-encoding')) return payload
    if (reply.statusCode !== 200) return payload
    if (!reply.hasHeader('vary')) reply.header('vary', 'accept-encoding')
    if (Buffer.byteLength(payload) < COMPRESSED_MIN_BYTES) return payload
    if (!acceptsGzip(request.headers['accept-encoding'])) return payload
    const bytes = await compressed(payload)
    reply.header('content-encoding', 'gzip').header('content-length', bytes.length)
    return bytes
  })
}
