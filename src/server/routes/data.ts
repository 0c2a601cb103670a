/**
 * Lists the files that an instance writes for its consumers, and serves each so that it cannot run scripts here (R13; threats
 * WEB-7, UI-1).
 */
import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { fail } from '../../core/errors.ts'
import type { ByteRange } from '../../core/index.ts'
import { rangeOf } from '../http/byte-range.ts'
import { attachment, contentTypeOf } from '../http/content-types.ts'
import { dataPathOf } from '../http/data-path.ts'
import type { Handlers } from '../request/operations.ts'
import type { AppParts } from '../request/parts.ts'

/** A file of a resolver gets no script, no form and no origin. */
const SANDBOX = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"

export function dataHandlers({ platform }: AppParts) {
  return {
    getInstanceData: async ({ params }) => platform.dataFiles(params.id),

    getInstanceDataFile: async ({ params, request, reply }) => {
      const path = dataPathOf(request.raw.url ?? '')
      const isHead = request.method === 'HEAD'
      let part: ByteRange | undefined
      const found = await platform.data(params.id, path, (bytes) => {
        if (isHead) return { from: 0, to: 0 }
        part = request.headers['if-range'] === undefined ? rangeOf(request.headers.range, bytes) : undefined
        return part ?? { from: 0, to: bytes }
      })
      const { from, to } = part ?? { from: 0, to: found.bytes }
      const { type, isHarmless } = contentTypeOf(path)
      reply.headers({
        'content-type': type,
        'content-length': to - from,
        'content-security-policy': SANDBOX,
        'accept-ranges': 'bytes',
        'last-modified': new Date(found.modified_at).toUTCString(),
        ...(isHarmless ? {} : { 'content-disposition': attachment(path) }),
        ...(part === undefined ? {} : { 'content-range': `bytes ${from}-${to - 1}/${found.bytes}` }),
      })
      reply.code(part === undefined ? 200 : 206)
      return reply.send(Readable.from(exactly(found.stream, isHead ? 0 : to - from, request)))
    },
  } satisfies Partial<Handlers>
}

/** A file that became shorter while it was sent ends the connection: the client must not read the next answer as its rest. */
async function* exactly(
  stream: AsyncIterable<Buffer>,
  bytes: number,
  { id: request }: FastifyRequest,
): AsyncGenerator<Buffer> {
  let sent = 0
  for await (const chunk of stream) {
    sent += chunk.length
    yield chunk
  }
  if (sent !== bytes) throw fail('connection_closed', { peer: `the file of request ${request}` })
}
