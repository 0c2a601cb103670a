/** The files an instance writes for its consumers: listed, and each served so that nothing in it can run here (R13; threats WEB-7, UI-1). */
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { fail } from '../../core/errors.ts'
import type { ByteRange } from '../../core/index.ts'
import { rangeOf } from '../http/byte-range.ts'
import { attachment, contentTypeOf } from '../http/content-types.ts'
import { dataPathOf } from '../http/data-path.ts'
import { listOf, object } from '../openapi/shapes.ts'
import type { AppParts } from '../request/parts.ts'

const id = { type: 'string', description: 'The instance' }
const file = { type: 'string', description: 'The path of the file' }
const tags = ['data']

/** Whatever a resolver wrote gets no script, no form, no origin. */
const SANDBOX = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"

const content = {
  'application/octet-stream': { schema: { type: 'string', contentMediaType: 'application/octet-stream' } },
}
const HEADERS = {
  'Accept-Ranges': { type: 'string' },
  'Last-Modified': { type: 'string' },
  'Content-Disposition': {
    type: 'string',
    description: 'attachment, unless a browser can show it without running anything',
  },
}

export function dataRoutes(app: FastifyInstance, { platform }: AppParts): void {
  app.get<{ Params: { id: string } }>(
    '/instances/:id/data',
    {
      schema: {
        ...{ summary: 'List its data files', tags, params: object({ id }) },
        response: { 200: { description: 'By path', content: { 'application/json': { schema: listOf('DataFile') } } } },
      },
      config: { needs: 'read', refuses: ['instance_unknown', 'host_unreachable'] },
    },
    async ({ params }) => platform.dataFiles(params.id),
  )

  app.get<{ Params: { id: string } }>(
    '/instances/:id/data/*',
    {
      schema: {
        ...{ summary: 'Read a data file', tags, params: object({ id, '*': file }, ['*']) },
        description: 'A HEAD tells its size and age. One range of bytes may be asked for.',
        headers: {
          type: 'object',
          properties: { range: { type: 'string', description: 'One range', examples: ['bytes=0-1023'] } },
        },
        response: {
          200: { description: 'The file, with the content type its name tells', headers: HEADERS, content },
          206: {
            description: 'The part asked for',
            headers: { ...HEADERS, 'Content-Range': { type: 'string' } },
            content,
          },
        },
      },
      config: {
        needs: 'read',
        refuses: ['instance_unknown', 'file_unknown', 'path_refused', 'range_unsatisfiable', 'host_unreachable'],
      },
    },
    async (request, reply) => {
      const path = dataPathOf(request.raw.url ?? '')
      const isHead = request.method === 'HEAD'
      let part: ByteRange | undefined
      const found = await platform.data(request.params.id, path, (bytes) => {
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
  )
}

/** A file that was cut meanwhile ends the connection: its reader must not take the next answer for the rest of this one. */
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
