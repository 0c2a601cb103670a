/** Reads one file of a pipeline within its bound: a regular file of UTF-8 text. Commands and the resolver `pipeline` call it. */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { fail, systemCode } from '../../core/errors.ts'
import { PIPELINE_SOURCE_MAX_BYTES } from '../../core/limits.ts'

/** Throws `pipeline_unreadable`; `label` is how its message names the file. */
export async function readSource(path: string, label: string = path): Promise<string> {
  const refuse = (reason: string, cause?: unknown) => fail('pipeline_unreadable', { path: label, reason }, { cause })
  // Without O_NONBLOCK the open of a FIFO would wait for its writer.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
    const code = systemCode(error)
    throw refuse(code === 'ENOENT' || code === 'ENOTDIR' ? 'there is no such file' : (code ?? 'unknown error'), error)
  })
  try {
    const found = await file.stat()
    if (!found.isFile()) throw refuse(found.isDirectory() ? 'it is a directory' : 'it is no regular file')
    const buffer = Buffer.alloc(Math.min(found.size, PIPELINE_SOURCE_MAX_BYTES) + 1)
    let length = 0
    while (length < buffer.length) {
      const { bytesRead } = await file.read(buffer, length, buffer.length - length, length)
      if (bytesRead === 0) break
      length += bytesRead
    }
    if (length > PIPELINE_SOURCE_MAX_BYTES || found.size > PIPELINE_SOURCE_MAX_BYTES)
      throw refuse(`it has more than ${PIPELINE_SOURCE_MAX_BYTES} bytes`)
    return toText(buffer.subarray(0, length), refuse)
  } finally {
    await file.close()
  }
}

/** The same while the caller cannot wait: what belongs to a pipeline, at a path that commands may change. Undefined where it is not read. */
export function readSourceNow(path: string): string | undefined {
  let fd: number | undefined
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
    if (!fstatSync(fd).isFile()) return undefined
    const buffer = Buffer.alloc(PIPELINE_SOURCE_MAX_BYTES + 1)
    let length = 0
    for (let read = -1; read !== 0 && length < buffer.length; length += read)
      read = readSync(fd, buffer, length, buffer.length - length, length)
    return sourceOf(buffer.subarray(0, length), path)
  } catch {
    return undefined
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

/** The text of bytes from elsewhere, such as stdin. Throws `pipeline_unreadable`. */
export function sourceOf(bytes: Uint8Array, label: string): string {
  const refuse = (reason: string) => fail('pipeline_unreadable', { path: label, reason })
  if (bytes.length > PIPELINE_SOURCE_MAX_BYTES) throw refuse(`it has more than ${PIPELINE_SOURCE_MAX_BYTES} bytes`)
  return toText(bytes, refuse)
}

function toText(bytes: Uint8Array, refuse: (reason: string) => Error): string {
  if (bytes.includes(0)) throw refuse('it is no text')
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw refuse('it is not UTF-8 text')
  }
}
