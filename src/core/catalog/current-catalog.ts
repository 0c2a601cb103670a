/**
 * What this process knows of the catalog: its last good reading of resolvers.json and of the manifests of directories, and the
 * built-in resolvers. catalog.ts calls it.
 */
import { isDeepStrictEqual } from 'node:util'
import type { ResolveError } from '../errors.ts'
import { inHome } from '../files/home-errors.ts'
import type { CatalogEntry } from '../protocol/catalog.ts'
import { entryKind } from './add-plan.ts'
import type { Builtins } from './builtins.ts'
import { readCatalogFile, type StoredCatalog, type StoredEntry } from './catalog-file.ts'
import { LiveManifests } from './live-manifests.ts'
import { normaliseManifest } from './manifest/parse-manifest.ts'
import { directoryOf } from './manifest/read-manifest.ts'
import { uploadSource } from './manifest/source.ts'
import { treeDir } from './stage-source.ts'
import { uploadDir } from './stage-upload.ts'

export interface CurrentOptions {
  home: string
  file: string
  builtins: Builtins
  onProblem: (problem: ResolveError) => void
  now: () => string
}

export class CurrentCatalog {
  readonly #options: CurrentOptions
  readonly #live = new LiveManifests()
  #lastGood: StoredCatalog | undefined
  #fingerprint: string | undefined
  #reading: Promise<unknown> = Promise.resolve()
  /** The entries in the file, with the built-in resolvers. */
  stored: ReadonlyMap<string, StoredEntry> = new Map()
  /** The entries that callers see, sorted by name. */
  entries: ReadonlyMap<string, CatalogEntry> = new Map()
  problem: ResolveError | null = null

  constructor(options: CurrentOptions) {
    this.#options = options
  }

  /** Reads again what changed. Returns whether list() or problem() differ now. Only one reading runs at a time. */
  refresh(): Promise<boolean> {
    const reading = this.#reading.then(() => this.#read())
    this.#reading = reading.catch(() => {})
    return reading
  }

  /** Why this resolver cannot be used now, although it is in the catalog. */
  problemOf(name: string): ResolveError | undefined {
    const stored = this.stored.get(name)
    return stored?.kind === 'directory' ? this.#live.problem(stored.source) : undefined
  }

  /** The manifests that are watched on disk. */
  manifestPaths(): string[] {
    return this.#live.paths()
  }

  async #read(): Promise<boolean> {
    const { home, file, builtins, onProblem, now } = this.#options
    const before = { entries: this.entries, problem: this.problem }
    const { stored, problem, fingerprint } = await inHome(home, () => readCatalogFile(file, this.#fingerprint))
    if (this.#lastGood === undefined || fingerprint !== this.#fingerprint) {
      // At the first reading, the valid part of a broken file is used.
      if (problem === null || this.#lastGood === undefined) this.#lastGood = stored
      this.#fingerprint = fingerprint
      this.problem = problem
      if (problem) onProblem(problem)
    }
    const current: StoredCatalog = { ...this.#lastGood, resolvers: new Map(this.#lastGood.resolvers) }
    builtins.seed(current, now())
    await this.#live.refresh(current, onProblem)
    this.stored = current.resolvers
    const names = [...current.resolvers.keys()].sort()
    this.entries = new Map(names.flatMap((name) => this.#entryOf(name, current.resolvers.get(name) as StoredEntry)))
    return before.problem !== this.problem || !isDeepStrictEqual(before.entries, this.entries)
  }

  /** Undefined for a built-in resolver that this version of the program does not ship. */
  #entryOf(name: string, stored: StoredEntry): [string, CatalogEntry][] {
    const { home, builtins } = this.#options
    const { source, commit, ref, added_at } = stored
    const kind = entryKind(stored.kind)
    if (kind === 'builtin' && !builtins.manifest(name)) return []
    const upload = stored.kind === 'upload' ? uploadSource(source) : undefined
    const fetched = commit === null ? directoryOf(source) : treeDir(home, name, commit)
    const own = kind === 'builtin' ? builtins.dirOf(name) : fetched
    const dir = upload === undefined ? own : uploadDir(home, upload.digest)
    const manifest = normaliseManifest(
      stored.kind === 'directory' ? this.#live.manifest(source, stored.manifest) : stored.manifest,
    )
    const { version, description, supports_resume = false } = manifest
    const entry = { name, version, description, supports_resume, kind, source, commit, ref, dir, manifest, added_at }
    const { viewport_commit } = stored
    return [[name, viewport_commit === undefined ? entry : { ...entry, viewport_commit }]]
  }
}
