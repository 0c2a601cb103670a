/** Reads the body of a request that is an archive, as it is: the core unpacks and checks it (threats UP-1). */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { fail } from '../../core/errors.ts'
import { UPLOAD_BODY_MAX_BYTES } from '../../core/limits.ts'

/** For a context with routes that take nothing else. */
export function addArchiveBody(app: FastifyInstance, type: string): void {
  app.removeAllContentTypeParsers()
  const options = { parseAs: 'buffer', bodyLimit: UPLOAD_BODY_MAX_BYTES } as const
  app.addContentTypeParser(type, options, async (request: FastifyRequest, body: Buffer) => {
    if ((request.headers['content-encoding'] ?? 'identity') !== 'identity') throw fail('media_type_refused', { type })
    return body
  })
}

/** Throws `media_type_refused` where there is none. */
export function archiveOf({ body, routeOptions }: FastifyRequest): Buffer {
  if (Buffer.isBuffer(body)) return body
  throw fail('media_type_refused', { type: routeOptions.config.takes ?? '' })
}
