/** Opens an untrusted archive that a client sent: unpacks it in memory, within limits, and checks all of it. The catalog calls it. */
import { createHash } from 'node:crypto'
import { systemCode } from '../errors.ts'
import { UPLOAD_MAX_BYTES, UPLOAD_TAR_MAX_BYTES } from '../limits.ts'
import { type ArchiveTree, readTar } from './read-tar.ts'
import { refused } from './refused.ts'

export interface OpenArchive extends ArchiveTree {
  /** SHA-256 of the tar, before it was compressed: 64 hex digits. */
  digest: string
}

/** Throws `archive_refused`. `wanted` is the digest that the client announced. */
export async function openArchive(archive: Buffer, wanted: string | undefined): Promise<OpenArchive> {
  const tar = await unzipped(archive)
  const digest = digestOfTar(tar)
  if (wanted !== undefined && wanted !== digest) throw refused(`its digest is ${digest}, not ${wanted}`)
  return { digest, ...readTar(tar) }
}

export function digestOfTar(tar: Uint8Array): string {
  return createHash('sha256').update(tar).digest('hex')
}

/** The sizes in the archive are not believed: unpacking stops at the limit. */
async function unzipped(archive: Buffer): Promise<Buffer> {
  const { gunzip } = await import('node:zlib')
  const options = { maxOutputLength: UPLOAD_TAR_MAX_BYTES, info: true }
  return await new Promise((done, failed) => {
    gunzip(archive, options, (error, result) => {
      if (error === null) {
        // With `info` the result is the bytes and the engine, which knows how much it has read.
        const { buffer, engine } = result as unknown as { buffer: Buffer; engine: { bytesWritten: number } }
        if (engine.bytesWritten === archive.length) done(buffer)
        else failed(refused('something follows its gzip data'))
      } else if (systemCode(error) === 'ERR_BUFFER_TOO_LARGE') {
        failed(refused(`it has more than ${UPLOAD_MAX_BYTES} bytes when it is unpacked`, error))
      } else failed(refused('it is not gzip, or is damaged', error))
    })
  })
}
