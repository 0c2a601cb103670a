/**
 * Reads the manifest.json of a resolver's directory, for registration and live reload. The directory is untrusted: the file is
 * opened without following a link and never read past its limit, so it cannot expose another file of this machine (threats B6).
 */
import { constants } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fail, systemCode } from '../../errors.ts'
import { MANIFEST_MAX_BYTES } from '../../limits.ts'
import { readJson } from './json-text.ts'

export const MANIFEST_FILE = 'manifest.json'

/**
 * Returns its JSON value, not yet checked. Throws `source_missing` or `manifest_invalid`; `source` names a fetched one in
 * errors.
 */
export async function readManifestFile(dir: string, source?: string): Promise<unknown> {
  const path = manifestLabel(dir, source)
  const file = await openManifest(dir, source)
  let bytes: Buffer
  try {
    const found = await file.stat()
    if (!found.isFile()) throw invalid(path, 'it must be a regular file')
    if (found.size > MANIFEST_MAX_BYTES)
      throw invalid(path, `it has ${found.size} bytes; the limit is ${MANIFEST_MAX_BYTES}`)
    bytes = await readUpTo(file, found.size)
  } finally {
    await file.close()
  }
  const read = readJson(bytes)
  if (read.reason !== null) throw invalid(path, read.reason)
  const [twice] = read.duplicates
  if (twice) throw invalid(path, `${JSON.stringify([...twice.inside, twice.key].join('.'))} is given twice`)
  return read.value
}

/** How errors name the manifest: its path, or the address it was fetched from. */
export function manifestLabel(dir: string, source?: string): string {
  return source === undefined ? join(dir, MANIFEST_FILE) : `${MANIFEST_FILE} of ${source}`
}

async function openManifest(dir: string, source: string | undefined): Promise<FileHandle> {
  const path = manifestLabel(dir, source)
  try {
    return await open(join(dir, MANIFEST_FILE), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    const code = systemCode(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') throw await missing(dir, source, error)
    if (code === 'ELOOP' || code === 'EMLINK') throw invalid(path, 'it must be a regular file, not a symbolic link')
    throw fail(
      'manifest_invalid',
      { path, errors: [`It can't be read (${code ?? 'unknown error'}).`] },
      { cause: error },
    )
  }
}

/** A path that a person gave may name nothing at all. */
async function missing(dir: string, source: string | undefined, cause: unknown) {
  if (source !== undefined) return fail('source_missing', { path: source }, { cause })
  const found = await stat(dir).catch(() => undefined)
  if (found?.isDirectory() === true) return fail('source_missing', { path: dir }, { cause })
  return fail('source_missing', { path: dir, found: found === undefined ? 'nothing' : 'no directory' }, { cause })
}

async function readUpTo(file: FileHandle, limit: number): Promise<Buffer> {
  const buffer = Buffer.alloc(limit)
  let length = 0
  while (length < limit) {
    const { bytesRead } = await file.read(buffer, length, limit - length, length)
    if (bytesRead === 0) break
    length += bytesRead
  }
  return buffer.subarray(0, length)
}

function invalid(path: string, reason: string) {
  return fail('manifest_invalid', { path, errors: [`${reason[0]?.toUpperCase()}${reason.slice(1)}.`] })
}
