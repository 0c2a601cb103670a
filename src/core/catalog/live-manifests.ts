/**
 * Follows the manifests of resolvers that are used from their directory, so that an author's edit takes effect without
 * registering again, and a broken one stops the use of its resolver (R49).
 */
import { stat } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import { fail, type ResolveError } from '../errors.ts'
import type { Manifest } from '../protocol/manifest.ts'
import type { StoredCatalog } from './catalog-file.ts'
import { parseManifest } from './manifest/parse-manifest.ts'
import { manifestFileOf, manifestLabel, readManifestFile } from './manifest/read-manifest.ts'
import { misnamed } from './stage-source.ts'

interface Live {
  /** The file with the manifest. */
  path: string
  fingerprint: string
  /** The last good manifest, as its author wrote it; undefined while it equals the catalog's. */
  manifest: Manifest | undefined
  /** Why the file cannot be used now. */
  problem: ResolveError | undefined
}

export class LiveManifests {
  readonly #known = new Map<string, Live>()

  /** The file's manifest; the last good one where the file is broken, for lists only. */
  manifest(dir: string, stored: Manifest): Manifest {
    return this.#known.get(dir)?.manifest ?? stored
  }

  /** Why the resolver of this directory cannot be used now. */
  problem(dir: string): ResolveError | undefined {
    return this.#known.get(dir)?.problem
  }

  paths(): string[] {
    return [...this.#known.values()].map(({ path }) => path)
  }

  /** Checks every directory source and reads again what changed. A broken manifest is reported once. */
  async refresh(stored: StoredCatalog, onProblem: (problem: ResolveError) => void): Promise<void> {
    const dirs = new Set<string>()
    for (const [name, entry] of stored.resolvers) {
      if (entry.kind !== 'directory') continue
      dirs.add(entry.source)
      const path = await manifestFileOf(entry.source)
      const fingerprint = await fingerprintOf(path)
      const known = this.#known.get(entry.source)
      if (known?.path === path && known.fingerprint === fingerprint) continue
      const read = await readGood(entry.source, name, entry.manifest).then(
        (manifest) => ({ manifest, problem: undefined }),
        (problem: ResolveError) => ({ manifest: known?.manifest, problem }),
      )
      if (read.problem !== undefined) onProblem(read.problem)
      this.#known.set(entry.source, { path, fingerprint, ...read })
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
  return found ? `${found.ino}:${found.size}:${found.mtimeNs}:${found.ctimeNs}` : 'missing'
}
