/**
 * Lists the files that an instance writes for its consumers, and serves each so that it cannot run scripts here (R13; threats
 * WEB-7, UI-1), or all of them as an archive.
 */
import { Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import type { FastifyRequest } from 'fastify'
import { fail, ResolveError } from '../../core/errors.ts'
import { type TarEntry, tar } from '../../core/files/tar.ts'
import type { ByteRange, DataFile, Platform } from '../../core/index.ts'
import { EXPORT_RETRY_S, EXPORTS_MAX, EXPORTS_OF_TOKEN_MAX } from '../../core/limits.ts'
import { rangeOf } from '../http/byte-range.ts'
import { attachment, contentTypeOf } from '../http/content-types.ts'
import { dataPathOf } from '../http/data-path.ts'
import type { Handlers } from '../request/operations.ts'
import { type AppParts, callerOf } from '../request/parts.ts'
import { Places } from '../request/places.ts'

/** A file of a resolver gets no script, no form and no origin. */
const SANDBOX = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"

export function dataHandlers({ platform }: AppParts) {
  const archives = new Places('archives of data files', { ofToken: EXPORTS_OF_TOKEN_MAX, all: EXPORTS_MAX })
  return {
    getInstanceData: async ({ params }) => platform.dataFiles(params.id),

    getInstanceDataArchive: async ({ params: { id }, request, reply }) => {
      reply.header('retry-after', String(EXPORT_RETRY_S))
      reply.raw.once('close', archives.enter(callerOf(request).tokenId))
      reply.removeHeader('retry-after')
      const files = await platform.dataFiles(id)
      reply.header('content-disposition', `attachment; filename="data-${id}.tar.gz"`).type('application/gzip')
      if (request.method === 'HEAD') return reply.send('')
      const zip = createGzip()
      const source = Readable.from(tar(entriesOf(platform, id, files)))
      // A file that cannot be read any more breaks the archive off: its reader sees that it is not whole.
      source.once('error', (error) => zip.destroy(error))
      zip.once('close', () => source.destroy())
      return reply.send(source.pipe(zip))
    },

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

/** One file at a time is open. A file that was removed since it was listed is left out. */
async function* entriesOf(platform: Platform, id: string, files: readonly DataFile[]): AsyncGenerator<TarEntry> {
  for (const { path } of files) {
    const found = await platform.data(id, path).catch((error: unknown) => {
      if (error instanceof ResolveError && error.code === 'file_unknown') return undefined
      throw error
    })
    if (found === undefined) continue
    const { bytes, modified_at, stream } = found
    yield { path: `data-${id}/${path}`, bytes, modifiedMs: Date.parse(modified_at), content: stream }
  }
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
