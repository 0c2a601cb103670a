/**
 * Follows the manifests of resolvers that are used from their directory, so that an author's edit takes effect without
 * registering again.
 */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { fail, type ResolveError } from '../errors.ts'
import type { Manifest } from '../protocol/manifest.ts'
import type { StoredCatalog } from './catalog-file.ts'
import { parseManifest } from './manifest/parse-manifest.ts'
import { MANIFEST_FILE, manifestLabel, readManifestFile } from './manifest/read-manifest.ts'
import { misnamed } from './stage-source.ts'

interface Live {
  fingerprint: string
  /** The last good manifest, as its author wrote it; undefined while it equals the catalog's. */
  manifest: Manifest | undefined
}

export class LiveManifests {
  readonly #known = new Map<string, Live>()

  /** The manifest in effect: the file's, or the last good one where the file is broken. */
  manifest(dir: string, stored: Manifest): Manifest {
    return this.#known.get(dir)?.manifest ?? stored
  }

  paths(): string[] {
    return [...this.#known.keys()].map((dir) => join(dir, MANIFEST_FILE))
  }

  /** Checks every directory source and reads again what changed. A broken manifest is reported once and changes nothing. */
  async refresh(stored: StoredCatalog, onProblem: (problem: ResolveError) => void): Promise<void> {
    const dirs = new Set<string>()
    for (const [name, entry] of stored.resolvers) {
      if (entry.kind !== 'directory') continue
      dirs.add(entry.source)
      const fingerprint = await fingerprintOf(join(entry.source, MANIFEST_FILE))
      const known = this.#known.get(entry.source)
      if (known?.fingerprint === fingerprint) continue
      let manifest = known?.manifest
      try {
        manifest = await readGood(entry.source, name, entry.manifest)
      } catch (problem) {
        onProblem(problem as ResolveError)
      }
      this.#known.set(entry.source, { fingerprint, manifest })
    }
    for (const dir of this.#known.keys()) if (!dirs.has(dir)) this.#known.delete(dir)
  }
}

async function readGood(dir: string, name: string, stored: Manifest): Promise<Manifest | undefined> {
  const value = await readManifestFile(dir)
  if (isDeepStrictEqual(value, stored)) return undefined
  const { manifest, errors } = await parseManifest(value)
  if (manifest === null) throw fail('manifest_invalid', { path: manifestLabel(dir), errors })
  if (manifest.name !== name) throw misnamed(dir, name, manifest.name)
  return value as Manifest
}

async function fingerprintOf(path: string): Promise<string> {
  const found = await stat(path, { bigint: true }).catch(() => undefined)
  return found ? `${found.ino}:${found.size}:${found.mtimeNs}` : 'missing'
}
