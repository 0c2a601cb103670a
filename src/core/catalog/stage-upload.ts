/**
 * Stages the files of an archive that a client sent (R74): they are written beside their final place, which is named by the digest of the
 * archive. Only one process at a time does it, under a lock, so that what a killed one left can be removed.
 */
import { randomBytes } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { OpenArchive } from '../archive/open-archive.ts'
import { fail, ResolveError } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import { withLock } from '../files/lock.ts'
import { syncDirectory } from '../files/write-whole.ts'
import { checkedManifest, discard, STAGED, type StagedSource } from './stage-source.ts'

const UPLOADS = 'uploads'
const DIGEST = /^[0-9a-f]{64}$/

/** The final place of an upload. An instance keeps its files through later uploads. */
export function uploadDir(home: string, digest: string): string {
  return join(home, UPLOADS, digest)
}

/** The final places of all uploads of the home. */
export async function uploadDirs(home: string): Promise<string[]> {
  return (await readdir(join(home, UPLOADS))).filter((name) => DIGEST.test(name)).map((name) => uploadDir(home, name))
}

/** Runs `work` while no other process of the home takes an upload, after what a killed one left was removed. */
export async function whileUploading<T>(home: string, work: () => Promise<T>): Promise<T> {
  const base = join(home, UPLOADS)
  await mkdir(base, { recursive: true, mode: 0o700 })
  return await withLock(join(base, '.lock'), async () => {
    for (const name of await readdir(base)) {
      if (name.startsWith(STAGED)) await rm(join(base, name), { recursive: true, force: true })
    }
    return await work()
  })
}

/** For {@link whileUploading}. Throws `archive_refused`, `upload_needs_container`. */
export async function stageUpload(home: string, archive: OpenArchive): Promise<StagedSource> {
  const dir = join(home, UPLOADS, `${STAGED}${randomBytes(8).toString('hex')}`)
  try {
    await unpack(dir, archive)
    failpoint('upload.unpacked')
    const { manifest, warnings } = await checkedUpload(dir)
    return { source: { kind: 'upload', digest: archive.digest }, commit: null, dir, manifest, warnings }
  } catch (error) {
    await rm(dir, { recursive: true, force: true })
    throw error
  }
}

/** The manifest of an upload, valid. Throws `archive_refused`, `upload_needs_container`. */
export async function checkedUpload(dir: string): Promise<Pick<StagedSource, 'manifest' | 'warnings'>> {
  const checked = await checkedManifest(dir, 'the archive').catch(asRefusal)
  const { name, container } = checked.manifest
  // The sender of an archive gets no program onto the machine outside a container (threats UP-2).
  if (container === undefined) throw fail('upload_needs_container', { name })
  return checked
}

/** Moves it to its final place. Where the same files are there already, they stay: an instance may run in them. */
export async function placeUpload(home: string, staged: StagedSource, digest: string): Promise<void> {
  const target = uploadDir(home, digest)
  if (await isSameTree(target, staged.dir)) return await discard(staged)
  const aside = join(home, UPLOADS, `${STAGED}${randomBytes(8).toString('hex')}`)
  await rename(target, aside).catch(() => {})
  await rename(staged.dir, target)
  await syncDirectory(join(home, UPLOADS))
  failpoint('upload.placed')
  await rm(aside, { recursive: true, force: true })
}

/** The names were checked: each is below `dir`, and each is new. */
async function unpack(dir: string, { directories, files }: OpenArchive): Promise<void> {
  await mkdir(dir, { mode: 0o700 })
  for (const path of directories) await mkdir(join(dir, path), { mode: 0o700 })
  for (const { path, isExecutable, content } of files) {
    const file = await open(join(dir, path), 'wx', isExecutable ? 0o700 : 0o600)
    try {
      await file.writeFile(content)
      await file.sync()
    } finally {
      await file.close()
    }
  }
}

/** The sender is told what is wrong with the manifest; other callers of the API are not told of files on this machine. */
function asRefusal(error: unknown): never {
  if (!(error instanceof ResolveError)) throw error
  const { code, errors } = error
  if (code === 'source_missing') throw fail('archive_refused', { problem: 'it has no manifest.json at its top' })
  if (code !== 'manifest_invalid') throw error
  const told = errors.join(' ').replace(/\.$/, '')
  throw fail('archive_refused', { problem: `its manifest.json is not valid: ${told}` }, { cause: error })
}

async function isSameTree(one: string, other: string): Promise<boolean> {
  const [mine, theirs] = await Promise.all([listed(one), listed(other)])
  if (mine === undefined || theirs === undefined || mine.length !== theirs.length) return false
  for (const [at, { name, isFile }] of mine.entries()) {
    if (name !== theirs[at]?.name || isFile !== theirs[at].isFile) return false
    const [left, right] = [join(one, name), join(other, name)]
    const isSame = isFile ? (await readFile(left)).equals(await readFile(right)) : await isSameTree(left, right)
    if (!isSame) return false
  }
  return true
}

async function listed(dir: string): Promise<{ name: string; isFile: boolean }[] | undefined> {
  const entries = await readdir(dir, { withFileTypes: true }).catch(() => undefined)
  const found = entries?.map((entry) => ({ name: entry.name, isFile: entry.isFile() }))
  return found?.sort((one, other) => (one.name < other.name ? -1 : 1))
}
