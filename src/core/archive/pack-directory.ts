/** Packs a directory for a server: `resolver add` to a server calls it. The same files give the same archive, on every machine. */
import { constants } from 'node:fs'
import { open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { fail } from '../errors.ts'
import { type TarEntry, tar } from '../files/tar.ts'
import { UPLOAD_ENTRIES_MAX, UPLOAD_MAX_BYTES } from '../limits.ts'
import { digestOfTar } from './open-archive.ts'
import { readTar } from './read-tar.ts'
import { refused } from './refused.ts'

export interface PackedDirectory {
  /** A gzip'd tar. */
  archive: Buffer
  /** SHA-256 of the tar, before it was compressed. */
  digest: string
  files: number
  /** Of the files together. */
  bytes: number
}

/** Directories that are not sent. */
const LEFT_OUT = '.git'
/** Links to programs, which npm makes again. */
const NPM_LINKS = /(^|\/)node_modules\/\.bin$/

/** Throws `source_missing`, and `archive_refused` for what a server would refuse. Empty directories are not sent. */
export async function packDirectory(path: string): Promise<PackedDirectory> {
  const found = await stat(path).catch(() => undefined)
  if (found?.isDirectory() !== true) {
    throw fail('source_missing', { path, found: found === undefined ? 'nothing' : 'no directory' })
  }
  const entries: TarEntry[] = []
  const budget = { bytes: UPLOAD_MAX_BYTES }
  await collect(path, '', entries, budget)
  entries.sort((one, other) => (one.path < other.path ? -1 : 1))
  const chunks: Buffer[] = []
  for await (const chunk of tar(entries)) chunks.push(chunk)
  const whole = Buffer.concat(chunks)
  // What the server would refuse is refused here, before it is sent.
  readTar(whole)
  return {
    archive: await promisify(gzip)(whole),
    digest: digestOfTar(whole),
    files: entries.length,
    bytes: UPLOAD_MAX_BYTES - budget.bytes,
  }
}

async function collect(top: string, below: string, entries: TarEntry[], budget: { bytes: number }): Promise<void> {
  for (const entry of await readdir(join(top, below), { withFileTypes: true })) {
    const path = below === '' ? entry.name : `${below}/${entry.name}`
    if (entry.name === LEFT_OUT || NPM_LINKS.test(path)) continue
    if (entry.isDirectory()) {
      await collect(top, path, entries, budget)
      continue
    }
    if (!entry.isFile())
      throw refused(`${JSON.stringify(path)} is ${entry.isSymbolicLink() ? 'a link' : 'no regular file'}`)
    if (entries.length === UPLOAD_ENTRIES_MAX) throw refused(`it has more than ${UPLOAD_ENTRIES_MAX} files`)
    const { content, isExecutable } = await readWhole(join(top, path), path, budget)
    entries.push({ path, bytes: content.length, modifiedMs: 0, mode: isExecutable ? 0o700 : 0o600, content: [content] })
  }
}

async function readWhole(full: string, path: string, budget: { bytes: number }) {
  const file = await open(full, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const { size, mode } = await file.stat()
    if (size > budget.bytes) throw refused(`with ${JSON.stringify(path)} it has more than ${UPLOAD_MAX_BYTES} bytes`)
    const content = await file.readFile()
    budget.bytes -= content.length
    if (budget.bytes < 0) throw refused(`with ${JSON.stringify(path)} it has more than ${UPLOAD_MAX_BYTES} bytes`)
    return { content, isExecutable: (mode & 0o100) !== 0 }
  } finally {
    await file.close()
  }
}
