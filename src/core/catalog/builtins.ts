/**
 * The resolvers that ship with the program, one folder each. The catalog adds them to resolvers.json on first use and updates
 * them with the program.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { fail, type ResolveError, systemCode } from '../errors.ts'
import type { Manifest } from '../protocol/manifest.ts'
import { digestOf, type StoredCatalog, type StoredEntry } from './catalog-file.ts'
import { parseManifest } from './manifest/parse-manifest.ts'
import { manifestLabel, readManifestFile } from './manifest/read-manifest.ts'

export class Builtins {
  readonly dir: string
  readonly #manifests = new Map<string, Manifest>()

  constructor(dir: string) {
    this.dir = dir
  }

  names(): string[] {
    return [...this.#manifests.keys()]
  }

  dirOf(name: string): string {
    return join(this.dir, name)
  }

  /** The manifest in the program's own folder. */
  manifest(name: string): Manifest | undefined {
    return this.#manifests.get(name)
  }

  /** Reads every folder. A manifest that is unchanged in the catalog is not checked again. */
  async read(stored: StoredCatalog, onProblem: (problem: ResolveError) => void): Promise<void> {
    for (const name of await folders(this.dir)) {
      const dir = join(this.dir, name)
      try {
        const value = await readManifestFile(dir)
        const known = stored.resolvers.get(name)
        const isKnown = known?.kind === 'builtin' && isDeepStrictEqual(value, known.manifest)
        const { errors } = isKnown ? { errors: [] } : await parseManifest(value)
        if (errors.length > 0) throw fail('manifest_invalid', { path: manifestLabel(dir), errors })
        if ((value as Manifest).name !== name) throw misnamed(dir, name)
        this.#manifests.set(name, value as Manifest)
      } catch (problem) {
        onProblem(problem as ResolveError)
      }
    }
  }

  /** Adds the missing entries to the draft and updates those with another version. Returns whether the draft changed. */
  seed(draft: StoredCatalog, now: string): boolean {
    let isChanged = false
    for (const [name, manifest] of this.#manifests) {
      const known = draft.resolvers.get(name)
      if (known === undefined && draft.removed_builtins.includes(name)) continue
      if (known !== undefined && (known.kind !== 'builtin' || isDeepStrictEqual(known.manifest, manifest))) continue
      draft.resolvers.set(name, builtinEntry(manifest, known?.added_at ?? now))
      isChanged = true
    }
    return isChanged
  }
}

export function builtinEntry(manifest: Manifest, addedAt: string): StoredEntry {
  const manifest_sha256 = digestOf(manifest)
  return { kind: 'builtin', source: 'builtin', ref: null, commit: null, added_at: addedAt, manifest, manifest_sha256 }
}

async function folders(dir: string): Promise<string[]> {
  try {
    const entries = await readdir(dir, { withFileTypes: true })
    return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return []
    throw error
  }
}

function misnamed(dir: string, name: string): ResolveError {
  return fail('manifest_invalid', { path: manifestLabel(dir), errors: [`name must be "${name}", as its folder says.`] })
}
