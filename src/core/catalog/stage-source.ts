/** Stages a source for registration: fetches it beside its final place, then reads and checks its manifest. */
import { randomBytes } from 'node:crypto'
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { fail } from '../errors.ts'
import { fetchSource } from '../git/fetch-source.ts'
import type { Manifest } from '../protocol/manifest.ts'
import { parseManifest } from './manifest/parse-manifest.ts'
import { directoryOf, manifestFileOf, manifestLabel, readManifestFile } from './manifest/read-manifest.ts'
import type { GitSource, Source } from './manifest/source.ts'

export interface FetchOptions {
  /** Called with each line of git's progress output. */
  onProgress?: (line: string) => void
  signal?: AbortSignal
}

export interface StagedSource {
  source: Source
  /** The commit that was fetched; null where git has no part in it. */
  commit: string | null
  /** Where the files are at present. */
  dir: string
  /** The manifest as its author wrote it; valid. */
  manifest: Manifest
  warnings: string[]
}

/** With the viewport that its manifest names, fetched. */
export interface StagedResolver extends StagedSource {
  viewport: { commit: string; file: string } | null
}

export const STAGED = '.staged-'
/** A staged tree of this age was left by a process that died. */
const STALE_MS = 60 * 60_000

/** The folder of all fetched resolvers. */
export function fetchedDir(home: string): string {
  return join(home, 'resolvers')
}

/** The final place of a fetched resolver. It is named by its commit, so a running instance keeps its files through an update. */
export function treeDir(home: string, name: string, commit: string): string {
  return join(fetchedDir(home), name, commit)
}

/** A directory, or a pipeline by its folder, its graph or the file with its form. Throws `source_missing`, `manifest_invalid`. */
export async function stageDirectory(given: string): Promise<StagedSource> {
  const path = await placeOf(given)
  const { manifest, warnings } = await checkedManifest(path)
  return { source: { kind: 'directory', path }, commit: null, dir: directoryOf(path), manifest, warnings }
}

/** A pipeline is kept by its own file: another one may come to lie beside it. */
async function placeOf(given: string): Promise<string> {
  const isDirectory = (await stat(given).catch(() => undefined))?.isDirectory() === true
  if (given.endsWith('.dot') && !isDirectory) return given.replace(/dot$/, 'resolver.yaml')
  const file = await manifestFileOf(given)
  return directoryOf(file) === file ? given : file
}

/**
 * Fetches; the caller places the tree with {@link placeTree} or removes it with {@link discard}. Also throws what fetchSource
 * throws.
 */
export async function stageGit(home: string, source: GitSource, options: FetchOptions): Promise<StagedSource> {
  const base = fetchedDir(home)
  await mkdir(base, { recursive: true, mode: 0o700 })
  await sweep(base)
  const dir = join(base, `${STAGED}${randomBytes(8).toString('hex')}`)
  const { commit } = await fetchSource({ url: source.url, ref: source.ref, into: dir, ...options })
  try {
    const { manifest, warnings } = await checkedManifest(dir, source.text)
    if (source.name !== null && manifest.name !== source.name) throw misnamed(source.text, source.name, manifest.name)
    return { source, commit, dir, manifest, warnings }
  } catch (error) {
    await rm(dir, { recursive: true, force: true })
    throw error
  }
}

/**
 * Moves a fetched tree to its final place. If a whole tree of the same commit is there already, it stays: an instance may run
 * in it.
 */
export async function placeTree(home: string, staged: StagedSource): Promise<void> {
  if (staged.commit === null) return
  const target = treeDir(home, staged.manifest.name, staged.commit)
  if (await holdsManifest(target, staged.manifest)) return await discard(staged)
  await mkdir(join(fetchedDir(home), staged.manifest.name), { recursive: true, mode: 0o700 })
  const aside = join(fetchedDir(home), `${STAGED}${randomBytes(8).toString('hex')}`)
  await rename(target, aside).catch(() => {})
  await rename(staged.dir, target)
  await rm(aside, { recursive: true, force: true })
}

export async function discard(staged: StagedSource): Promise<void> {
  const { kind } = staged.source
  if (kind === 'git' || kind === 'upload') await rm(staged.dir, { recursive: true, force: true })
}

export async function holdsManifest(dir: string, manifest: Manifest): Promise<boolean> {
  const found = await readManifestFile(dir).catch(() => undefined)
  return isDeepStrictEqual(found, manifest)
}

export function misnamed(source: string, wanted: string, found: string) {
  const errors = [`name must be "${wanted}", as it was asked for; it is "${found}".`]
  return fail('manifest_invalid', { path: manifestLabel('', source), errors })
}

/** Throws `source_missing`, `manifest_invalid`. */
export async function checkedManifest(
  dir: string,
  source?: string,
): Promise<{ manifest: Manifest; warnings: string[] }> {
  const value = await readManifestFile(dir, source)
  const { manifest, errors, warnings } = await parseManifest(value)
  if (manifest === null) throw fail('manifest_invalid', { path: manifestLabel(dir, source), errors })
  return { manifest: value as Manifest, warnings }
}

async function sweep(base: string): Promise<void> {
  for (const name of await readdir(base)) {
    if (!name.startsWith(STAGED) && !name.startsWith('.fetch-')) continue
    const found = await stat(join(base, name)).catch(() => undefined)
    if (found && Date.now() - found.mtimeMs > STALE_MS) await rm(join(base, name), { recursive: true, force: true })
  }
}
