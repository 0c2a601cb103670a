/** Packs a directory for a server: `resolver add` to a server calls it. The same files give the same archive, on every machine. */
import { constants, type Stats } from 'node:fs'
import { open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { fail } from '../errors.ts'
import { readRegularFile } from '../files/read-regular-file.ts'
import { type TarEntry, tar } from '../files/tar.ts'
import { UPLOAD_ENTRIES_MAX, UPLOAD_MAX_BYTES } from '../limits.ts'
import { isObject } from '../primitives/is-object.ts'
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
  /** How many packages of node_modules were left out, because only the development needs them. */
  developmentPackages: number
}

/** Directories that are not sent. */
const LEFT_OUT = '.git'
/** Links to programs, which npm makes again. */
const NPM_LINKS = /(^|\/)node_modules\/\.bin$/

interface Collected {
  entries: TarEntry[]
  /** How many bytes more it may have. */
  bytes: number
  developmentPackages: number
}

/** Throws `source_missing`, and `archive_refused` for what a server would refuse. Empty directories are not sent. */
export async function packDirectory(path: string): Promise<PackedDirectory> {
  const found = await stat(path).catch(() => undefined)
  if (found?.isDirectory() !== true) {
    throw fail('source_missing', { path, found: found === undefined ? 'nothing' : 'no directory' })
  }
  const collected: Collected = { entries: [], bytes: UPLOAD_MAX_BYTES, developmentPackages: 0 }
  await collect(path, '', new Set(), collected)
  const { entries, bytes, developmentPackages } = collected
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
    bytes: UPLOAD_MAX_BYTES - bytes,
    developmentPackages,
  }
}

/** `unneeded`: paths of packages that only the development needs. */
async function collect(top: string, below: string, unneeded: ReadonlySet<string>, collected: Collected): Promise<void> {
  const { entries } = collected
  const found = await readdir(join(top, below), { withFileTypes: true })
  const hasPackages = found.some((entry) => entry.name === 'node_modules' && entry.isDirectory())
  const left = hasPackages ? new Set([...unneeded, ...developmentPackages(top, below)]) : unneeded
  for (const entry of found) {
    const path = below === '' ? entry.name : `${below}/${entry.name}`
    if (entry.name === LEFT_OUT || NPM_LINKS.test(path)) continue
    if (entry.isDirectory()) {
      if (left.has(path)) collected.developmentPackages += 1
      else await collect(top, path, left, collected)
      continue
    }
    if (!entry.isFile())
      throw refused(`${JSON.stringify(path)} is ${entry.isSymbolicLink() ? 'a link' : 'no regular file'}`)
    if (entries.length === UPLOAD_ENTRIES_MAX) throw refused(`it has more than ${UPLOAD_ENTRIES_MAX} files`)
    const { content, isExecutable } = await readWhole(join(top, path), path, collected)
    entries.push({ path, bytes: content.length, modifiedMs: 0, mode: isExecutable ? 0o700 : 0o600, content: [content] })
  }
}

/** From the list that npm keeps of what it installed; none where another program installed it, or the list can't be read. */
function developmentPackages(top: string, below: string): string[] {
  const path = join(top, below, 'node_modules', '.package-lock.json')
  try {
    const { packages } = JSON.parse(readRegularFile(path, requireSmall)) as { packages?: unknown }
    const known = isObject(packages) ? Object.entries(packages) : []
    const names = known.filter(([, one]) => isObject(one) && one['dev'] === true).map(([name]) => name)
    return names.map((name) => (below === '' ? name : `${below}/${name}`))
  } catch {
    return []
  }
}

function requireSmall({ size }: Stats): void {
  if (size > UPLOAD_MAX_BYTES) throw refused(`a list of packages has more than ${UPLOAD_MAX_BYTES} bytes`)
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
