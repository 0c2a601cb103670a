/**
 * Finds and fetches the viewport module of a resolver (spec, Resolver manifest; R9); registration and the HTTP API call it.
 * With `viewport_bundle` it is fetched at registration and pinned to its commit; without, `viewport_path` names a file in the
 * resolver's own folder.
 */
import { randomBytes } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { mkdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { fail } from '../errors.ts'
import { writeWhole } from '../files/write-whole.ts'
import { fetchSource } from '../git/fetch-source.ts'
import { VIEWPORT_MAX_BYTES } from '../limits.ts'
import type { CatalogEntry } from '../protocol/catalog.ts'
import type { Manifest } from '../protocol/manifest.ts'
import { type GitSource, parseGitSource } from './manifest/source.ts'
import { type FetchOptions, fetchedDir, STAGED } from './stage-source.ts'

export interface StagedViewport {
  /** The commit that was fetched (R5). */
  commit: string
  /** Where the module is until it is placed or discarded. */
  file: string
}

/** Throws `file_unknown` where the resolver has no viewport, or its path is outside its folder. */
export async function readViewport(home: string, entry: CatalogEntry): Promise<Buffer> {
  const { name, dir, manifest, viewport_commit: commit } = entry
  const missing = (cause?: unknown) => fail('file_unknown', { path: `viewport.js of ${name}` }, { cause })
  if (manifest.viewport_path === undefined) throw missing()
  if (manifest.viewport_bundle === undefined) return await readOwn(dir, manifest.viewport_path, missing)
  if (commit === undefined) throw missing()
  return await readFile(viewportFile(home, name, commit)).catch((error: unknown) => {
    throw missing(error)
  })
}

/**
 * Null where the manifest names no bundle. Throws `git_missing`, `git_failed`, and `manifest_invalid` where the bundle lacks
 * the file.
 */
export async function stageViewport(
  home: string,
  { viewport_bundle: bundle, viewport_path: path }: Manifest,
  options: FetchOptions,
): Promise<StagedViewport | null> {
  if (bundle === undefined || path === undefined) return null
  return await fetchViewport(home, parseGitSource(bundle), path, options)
}

/** Only this one file of the repository is kept. */
export async function fetchViewport(
  home: string,
  { url, ref, text }: GitSource,
  path: string,
  options: FetchOptions = {},
): Promise<StagedViewport> {
  const base = fetchedDir(home)
  await mkdir(base, { recursive: true, mode: 0o700 })
  const tree = join(base, `${STAGED}${randomBytes(8).toString('hex')}`)
  const file = `${tree}.js`
  const { commit } = await fetchSource({ url, ref, into: tree, ...options })
  try {
    const absent = () =>
      fail('manifest_invalid', {
        path: `The manifest that names ${text}`,
        errors: [`viewport_path must be a file of viewport_bundle; there is no "${path}" in it, or it is too large.`],
      })
    await writeWhole(file, await readOwn(tree, path, absent), { mode: 0o600, durable: true })
    return { commit, file }
  } finally {
    await rm(tree, { recursive: true, force: true })
  }
}

/** Files of one commit never change, so an existing copy is kept. */
export async function placeViewport(home: string, name: string, { commit, file }: StagedViewport): Promise<void> {
  const target = viewportFile(home, name, commit)
  await mkdir(dirname(target), { recursive: true, mode: 0o700 })
  await rename(file, target)
}

export async function discardViewport(staged: StagedViewport | null): Promise<void> {
  if (staged !== null) await rm(staged.file, { force: true })
}

function viewportFile(home: string, name: string, commit: string): string {
  return join(fetchedDir(home), name, `viewport-${commit}.js`)
}

/** Whether a file is below `dir` after all links are resolved. */
async function readOwn(dir: string, path: string, missing: (cause?: unknown) => Error): Promise<Buffer> {
  try {
    const real = realpathSync(join(dir, path))
    const found = await stat(real)
    if (!real.startsWith(realpathSync(dir) + sep) || !found.isFile() || found.size > VIEWPORT_MAX_BYTES) throw missing()
    return await readFile(real)
  } catch (error) {
    throw missing(error)
  }
}
