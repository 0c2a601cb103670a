/**
 * Reads the manifest of a resolver's directory, for registration and live reload: manifest.json, or what the file `<name>.resolver.yaml` of a
 * pipeline says. The directory is untrusted: the file is
 * opened without following a link and never read past its limit, so it cannot expose another file of this machine (threats B6).
 */
import { constants } from 'node:fs'
import { type FileHandle, lstat, open, readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { derivedManifest } from '../../../pipeline/form/derived-manifest.ts'
import { parseResolverFile, RESOLVER_FILE } from '../../../pipeline/form/resolver-file.ts'
import { fail, systemCode } from '../../errors.ts'
import { MANIFEST_MAX_BYTES } from '../../limits.ts'
import { readJson } from './json-text.ts'

export const MANIFEST_FILE = 'manifest.json'

/** Where the files of a directory source are: a pipeline is added by its own file, of several in a folder. */
export function directoryOf(place: string): string {
  return RESOLVER_FILE.test(place) ? dirname(place) : place
}

/** The file with the manifest of a place: a directory, or the file of a pipeline. Where there is none, that of a manifest.json. */
export async function manifestFileOf(place: string): Promise<string> {
  if (RESOLVER_FILE.test(place)) return place
  const own = join(place, MANIFEST_FILE)
  if ((await lstat(own).catch(() => undefined)) !== undefined) return own
  const pipelines = await pipelineFilesIn(place)
  return pipelines.length === 1 ? join(place, pipelines[0] as string) : own
}

async function pipelineFilesIn(dir: string): Promise<string[]> {
  const names = await readdir(dir).catch(() => [])
  return names.filter((name) => RESOLVER_FILE.test(name)).toSorted()
}

/**
 * Returns its JSON value, not yet checked. Throws `source_missing` or `manifest_invalid`; `source` names a fetched one in
 * errors.
 */
export async function readManifestFile(place: string, source?: string): Promise<unknown> {
  const path = await manifestFileOf(place)
  const label = source === undefined ? path : `${basename(path)} of ${source}`
  const file = await openManifest(path, label, { place, source })
  let bytes: Buffer
  try {
    const found = await file.stat()
    if (!found.isFile()) throw invalid(label, 'it must be a regular file')
    if (found.size > MANIFEST_MAX_BYTES)
      throw invalid(label, `it has ${found.size} bytes; the limit is ${MANIFEST_MAX_BYTES}`)
    bytes = await readUpTo(file, found.size)
  } finally {
    await file.close()
  }
  if (RESOLVER_FILE.test(path)) return await readDerived(bytes, basename(path), label)
  const read = readJson(bytes)
  if (read.reason !== null) throw invalid(label, read.reason)
  const [twice] = read.duplicates
  if (twice) throw invalid(label, `${JSON.stringify([...twice.inside, twice.key].join('.'))} is given twice`)
  return read.value
}

async function readDerived(bytes: Buffer, fileName: string, label: string): Promise<unknown> {
  const { file, problems } = await parseResolverFile(bytes.toString('utf8'), fileName)
  if (file === undefined) throw fail('manifest_invalid', { path: label, errors: problems })
  return derivedManifest(file, fileName)
}

/** How errors name the manifest: its path, or the address it was fetched from. */
export function manifestLabel(place: string, source?: string): string {
  if (source !== undefined) return `${MANIFEST_FILE} of ${source}`
  return RESOLVER_FILE.test(place) ? place : join(place, MANIFEST_FILE)
}

async function openManifest(
  path: string,
  label: string,
  from: { place: string; source: string | undefined },
): Promise<FileHandle> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    const code = systemCode(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') throw await missing(from.place, from.source, error)
    if (code === 'ELOOP' || code === 'EMLINK') throw invalid(label, 'it must be a regular file, not a symbolic link')
    throw fail(
      'manifest_invalid',
      { path: label, errors: [`It can't be read (${code ?? 'unknown error'}).`] },
      { cause: error },
    )
  }
}

/** A path that a person gave may name nothing at all; a folder may have several pipelines. */
async function missing(place: string, source: string | undefined, cause: unknown) {
  if (RESOLVER_FILE.test(place)) {
    const errors = ['There is no such file; it has the form of a pipeline, and lies beside its graph.']
    return fail('manifest_invalid', { path: place, errors }, { cause })
  }
  const pipelines = await pipelineFilesIn(place)
  if (pipelines.length > 1) {
    const errors = [
      `It has no manifest.json and several pipelines. Add one by its file: ${pipelines.slice(0, 5).join(', ')}.`,
    ]
    return fail('manifest_invalid', { path: source ?? place, errors }, { cause })
  }
  if (source !== undefined) return fail('source_missing', { path: source }, { cause })
  const found = await stat(place).catch(() => undefined)
  if (found?.isDirectory() === true) return fail('source_missing', { path: place }, { cause })
  return fail('source_missing', { path: place, found: found === undefined ? 'nothing' : 'no directory' }, { cause })
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
