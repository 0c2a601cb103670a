/**
 * The steps of registering a resolver, called by the catalog: stage the source, compare it with the existing entry, and put it
 * into the draft.
 */
import { stat } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import type { OpenArchive } from '../archive/open-archive.ts'
import { fail } from '../errors.ts'
import { inHome } from '../files/home-errors.ts'
import type { Builtins } from './builtins.ts'
import { digestOf, type StoredCatalog, type StoredEntry } from './catalog-file.ts'
import {
  isSamePlace,
  parseGitSource,
  parseSource,
  refOf,
  type Source,
  sourceText,
  uploadSource,
} from './manifest/source.ts'
import {
  discard,
  type FetchOptions,
  holdsManifest,
  misnamed,
  placeTree,
  type StagedResolver,
  type StagedSource,
  stageDirectory,
  stageGit,
  treeDir,
} from './stage-source.ts'
import { placeUpload, stageUpload } from './stage-upload.ts'
import { discardViewport, placeViewport, stageViewport } from './viewport.ts'

/** A source that is fetched and checked but not yet registered. A bare name restores a built-in resolver. */
export async function stage(
  given: { source: string; cwd: string },
  home: string,
  builtins: Builtins,
  options: FetchOptions,
): Promise<StagedResolver> {
  return await withViewport(await stageSource(given, home, builtins, options), home, options)
}

/** An archive that a client sent. Throws `archive_refused`, `upload_needs_container`, and as adding a git source does. */
export async function stageArchive(archive: OpenArchive, home: string): Promise<StagedResolver> {
  return await withViewport(await inHome(home, () => stageUpload(home, archive)), home, {})
}

async function stageSource(
  given: { source: string; cwd: string },
  home: string,
  builtins: Builtins,
  options: FetchOptions,
): Promise<StagedSource> {
  const source = parseSource(given.source, given.cwd)
  if (source.kind === 'git') return await inHome(home, () => stageGit(home, source, options))
  const name = source.kind === 'builtin' ? source.name : given.source.trim()
  const manifest = builtins.manifest(name)
  const isMeant = source.kind === 'builtin' || (manifest !== undefined && !(await exists(source.path)))
  if (!isMeant) return await stageDirectory(source.path)
  if (manifest === undefined) throw fail('resolver_unknown', { name })
  return { source: { kind: 'builtin', name }, commit: null, dir: builtins.dirOf(name), manifest, warnings: [] }
}

async function withViewport(staged: StagedSource, home: string, options: FetchOptions): Promise<StagedResolver> {
  try {
    return { ...staged, viewport: await inHome(home, () => stageViewport(home, staged.manifest, options)) }
  } catch (error) {
    await discard(staged)
    throw error
  }
}

/** Removes what was staged and will not be registered. */
export async function discardStaged(staged: StagedResolver): Promise<void> {
  await discard(staged)
  await discardViewport(staged.viewport)
}

/**
 * Whether adding it replaces a resolver of this name from another source; another ref of the same repository is the same
 * source.
 */
export function isFromElsewhere(known: StoredEntry, staged: StagedSource): boolean {
  return !isSamePlace(sourceOf(known), staged.source)
}

/** Puts the staged source into the draft. Its files are in place before the catalog names them. Throws `resolver_exists`. */
export async function enter(
  draft: StoredCatalog,
  staged: StagedResolver,
  how: { home: string; force: boolean; now: string },
) {
  const { name } = staged.manifest
  const known = draft.resolvers.get(name)
  if (known && !how.force && isFromElsewhere(known, staged))
    throw fail('resolver_exists', { name, source: known.source })
  if (staged.source.kind === 'upload') await placeUpload(how.home, staged, staged.source.digest)
  else await placeTree(how.home, staged)
  if (staged.viewport !== null) await placeViewport(how.home, name, staged.viewport)
  draft.resolvers.set(name, entryOf(staged, known?.added_at ?? how.now))
  draft.removed_builtins = draft.removed_builtins.filter((removed) => removed !== name)
}

/** What `update` finds for an entry: a newly staged source, or null where nothing changed. Throws as adding does. */
export async function stageAgain(
  name: string,
  entry: StoredEntry,
  home: string,
  options: FetchOptions,
): Promise<StagedResolver | null> {
  // A built-in resolver is updated with the program, and an upload with the next one.
  if (entry.kind === 'builtin' || entry.kind === 'upload') return null
  const source = await (entry.kind === 'directory'
    ? stageDirectory(entry.source)
    : inHome(home, () => stageGit(home, parseGitSource(entry.source), options)))
  const staged = await withViewport(source, home, options)
  if (staged.manifest.name !== name) {
    await discardStaged(staged)
    throw misnamed(entry.source, name, staged.manifest.name)
  }
  if (!(await isSame(name, entry, staged, home))) return staged
  await discardStaged(staged)
  return null
}

async function isSame(name: string, entry: StoredEntry, staged: StagedResolver, home: string): Promise<boolean> {
  if (entry.commit !== staged.commit || !isDeepStrictEqual(entry.manifest, staged.manifest)) return false
  if (entry.viewport_commit !== staged.viewport?.commit) return false
  // A damaged tree is replaced by the fetched one.
  return entry.commit === null || (await holdsManifest(treeDir(home, name, entry.commit), entry.manifest))
}

function entryOf({ source, commit, manifest, viewport }: StagedResolver, addedAt: string): StoredEntry {
  const entry = {
    kind: source.kind,
    source: sourceText(source),
    ref: refOf(source),
    ...{ commit, added_at: addedAt, manifest, manifest_sha256: digestOf(manifest) },
  }
  return viewport === null ? entry : { ...entry, viewport_commit: viewport.commit }
}

/** Where the resolver of an entry comes from; its text was checked when the catalog was read. */
function sourceOf({ kind, source, manifest }: StoredEntry): Source {
  switch (kind) {
    case 'builtin':
      return { kind, name: manifest.name }
    case 'directory':
      return { kind, path: source }
    case 'git':
      return parseGitSource(source)
    case 'upload':
      return uploadSource(source) ?? { kind, digest: '' }
  }
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  )
}
