/**
 * The catalog of resolvers: commands, the HTTP API and hosts list, find and add resolvers here. resolvers.json is the single
 * source of truth. A process keeps its last good reading and refreshes it while it runs. Writers take a lock and start from the
 * file, never from memory.
 */
import { mkdir } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { openArchive } from '../archive/open-archive.ts'
import { fail, ResolveError } from '../errors.ts'
import { inHome } from '../files/home-errors.ts'
import { withLock } from '../files/lock.ts'
import { removeTree } from '../files/remove-tree.ts'
import { nearest } from '../primitives/nearest.ts'
import type { CatalogEntry } from '../protocol/catalog.ts'
import { type AddPlan, describePlan, plannedEntry } from './add-plan.ts'
import { Builtins } from './builtins.ts'
import { readCatalogFile, type StoredCatalog, writeCatalogFile } from './catalog-file.ts'
import { CurrentCatalog } from './current-catalog.ts'
import { sourceText } from './manifest/source.ts'
import { discardStaged, enter, isFromElsewhere, stage, stageAgain, stageArchive } from './registration.ts'
import type { FetchOptions, StagedResolver } from './stage-source.ts'
import { uploadDirs, whileUploading } from './stage-upload.ts'
import { watchCatalog } from './watch-catalog.ts'

export const CATALOG_FILE = 'resolvers.json'

export interface CatalogOptions {
  home: string
  /** The folder with one folder per built-in resolver, each with its manifest.json. */
  builtins: string
  /** Called once for each broken catalog file and each broken manifest of a directory. */
  onProblem?: (problem: ResolveError) => void
  now?: () => Date
}

export interface UpdateOutcome {
  entry: CatalogEntry
  changed: boolean
  /** Why this entry could not be updated, when all were to be updated. */
  problem: ResolveError | null
}

export interface UpdateOptions extends FetchOptions {
  /** Called with what a new source would be in the catalog; where it throws, the entry stays as it is. */
  check?: ((entry: CatalogEntry) => Promise<void>) | undefined
}

export interface ArchiveOptions {
  /** SHA-256 of the tar, as the client announced it. */
  sha256?: string | undefined
  force?: boolean | undefined
  dryRun?: boolean | undefined
}

/** Writers throw `catalog_broken` (a file that cannot be read is never replaced), `home_unusable`, `disk_full`. */
export interface Catalog {
  /** Sorted by name. */
  list(): CatalogEntry[]
  /**
   * An entry to be used, from the last reading: see {@link refresh}. Throws `resolver_unknown`, and `manifest_invalid` or
   * `source_missing` where the manifest of a directory cannot be used now (R49).
   */
  get(name: string): CatalogEntry
  /** Set while resolvers.json is broken and the last good one is in use. */
  problem(): ResolveError | null
  /** Fetches and checks, but does not register. A following {@link add} of the same source registers exactly what was shown. */
  plan(source: string, cwd: string, options?: FetchOptions): Promise<AddPlan>
  /** What a planned source would be in the catalog, where its files are now; undefined if it was not planned. */
  planned(source: string, cwd: string): CatalogEntry | undefined
  /** Throws `source_invalid`, `source_missing`, `manifest_invalid`, `resolver_exists`, `git_missing`, `git_failed`. */
  add(source: string, options: { cwd: string; force?: boolean } & FetchOptions): Promise<CatalogEntry>
  /**
   * Registers an archive that a client sent: a gzip'd tar of a resolver's directory (R74). With `dryRun` it only checks it; `entry` is then
   * null. Throws `archive_refused`, `upload_needs_container`, `resolver_exists`, `lock_held`, and as {@link add} for a viewport.
   */
  addArchive(archive: Buffer, options?: ArchiveOptions): Promise<{ plan: AddPlan; entry: CatalogEntry | null }>
  /**
   * Removes what killed processes left of uploads, and the files of those that the catalog does not name. `inUse` tells the directories
   * that stay; undefined where that is not known: then all of them stay. Throws `lock_held`.
   */
  clearUploads(inUse: () => Promise<ReadonlySet<string> | undefined>): Promise<void>
  /**
   * Fetches the ref again, or reads the directory's manifest again. With one name it throws; for all, each entry reports its
   * own error.
   */
  update(name?: string, options?: UpdateOptions): Promise<UpdateOutcome[]>
  /** Removes only the entry. Its files stay, because an instance may be paused on them; see {@link clearUploads}. */
  remove(name: string): Promise<CatalogEntry>
  /** Calls `onChange` after any change of list() or problem(). Returns the function that stops it. For long-running processes. */
  watch(onChange: () => void): () => void
  /** Reads again what changed on disk, including the manifests of directory sources. */
  refresh(): Promise<void>
  /** Stops watching and removes what was planned but not added. */
  close(): Promise<void>
}

/** Opens the catalog and adds the built-in resolvers on first use. Throws `home_unusable`, `disk_full`. */
export async function openCatalog(options: CatalogOptions): Promise<Catalog> {
  const catalog = new FileCatalog(options)
  await catalog.open()
  return catalog
}

class FileCatalog implements Catalog {
  readonly #home: string
  readonly #file: string
  readonly #builtins: Builtins
  readonly #current: CurrentCatalog
  readonly #onProblem: (problem: ResolveError) => void
  readonly #now: () => string
  readonly #planned = new Map<string, StagedResolver>()
  readonly #listeners = new Set<() => void>()
  #stopWatching: (() => Promise<void>) | undefined

  constructor(options: CatalogOptions) {
    this.#home = resolve(options.home)
    this.#file = join(this.#home, CATALOG_FILE)
    this.#builtins = new Builtins(resolve(options.builtins))
    this.#onProblem = options.onProblem ?? (() => {})
    this.#now = () => (options.now?.() ?? new Date()).toISOString()
    this.#current = new CurrentCatalog({
      home: this.#home,
      file: this.#file,
      builtins: this.#builtins,
      onProblem: this.#onProblem,
      now: this.#now,
    })
  }

  async open(): Promise<void> {
    const { stored, problem, fingerprint } = await inHome(this.#home, () => readCatalogFile(this.#file))
    await this.#builtins.read(stored, this.#onProblem)
    const isOutdated = this.#builtins.seed(stored, this.#now()) || fingerprint === 'missing'
    if (problem === null && isOutdated) {
      // #change adds the built-in resolvers itself.
      await this.#change(async () => {}).catch((error: ResolveError) => {
        // Without a catalog file the error is reported. With one, the catalog can still be read.
        if (fingerprint === 'missing') throw error
        this.#onProblem(error)
      })
    }
    await this.refresh()
  }

  list(): CatalogEntry[] {
    return [...this.#current.entries.values()]
  }

  get(name: string): CatalogEntry {
    const entry = this.#entry(name)
    const problem = this.#current.problemOf(name)
    if (problem !== undefined) throw problem
    return entry
  }

  #entry(name: string): CatalogEntry {
    const entry = this.#current.entries.get(name)
    if (entry) return entry
    const meant = nearest(name, this.#current.entries.keys())
    throw fail('resolver_unknown', meant === undefined ? { name } : { name, nearest: meant })
  }

  problem(): ResolveError | null {
    return this.#current.problem
  }

  async plan(source: string, cwd: string, options: FetchOptions = {}): Promise<AddPlan> {
    const staged = await stage({ source, cwd }, this.#home, this.#builtins, options)
    const earlier = this.#planned.get(keyOf(source, cwd))
    this.#planned.set(keyOf(source, cwd), staged)
    if (earlier) await discardStaged(earlier)
    await this.refresh()
    const { name } = staged.manifest
    const known = this.#current.stored.get(name)
    const needsForce = known !== undefined && isFromElsewhere(known, staged)
    return describePlan(staged, this.#current.entries.get(name) ?? null, needsForce)
  }

  planned(source: string, cwd: string): CatalogEntry | undefined {
    const staged = this.#planned.get(keyOf(source, cwd))
    return staged === undefined ? undefined : plannedEntry(staged, this.#now())
  }

  async add(source: string, options: { cwd: string; force?: boolean } & FetchOptions): Promise<CatalogEntry> {
    const { cwd, force = false, ...fetching } = options
    const planned = this.#planned.get(keyOf(source, cwd))
    this.#planned.delete(keyOf(source, cwd))
    const staged = planned ?? (await stage({ source, cwd }, this.#home, this.#builtins, fetching))
    await this.#changeWith(staged, (draft) => enter(draft, staged, { home: this.#home, force, now: this.#now() }))
    return this.get(staged.manifest.name)
  }

  async addArchive(
    archive: Buffer,
    { sha256, force = false, dryRun = false }: ArchiveOptions = {},
  ): Promise<{ plan: AddPlan; entry: CatalogEntry | null }> {
    return await whileUploading(this.#home, async () => {
      const staged = await stageArchive(await openArchive(archive, sha256), this.#home)
      await this.refresh()
      const { name } = staged.manifest
      const known = this.#current.stored.get(name)
      const needsForce = known !== undefined && isFromElsewhere(known, staged)
      const plan = describePlan(staged, this.#current.entries.get(name) ?? null, needsForce)
      if (dryRun) {
        await discardStaged(staged)
        return { plan, entry: null }
      }
      await this.#changeWith(staged, (draft) => enter(draft, staged, { home: this.#home, force, now: this.#now() }))
      return { plan, entry: this.get(name) }
    })
  }

  async clearUploads(inUse: () => Promise<ReadonlySet<string> | undefined>): Promise<void> {
    await whileUploading(this.#home, async () => {
      await this.refresh()
      // The last good reading of a broken file may lack what the file names.
      if (this.problem() !== null) return
      const needed = await inUse()
      if (needed === undefined) return
      // By its digest: the home may have been reached by another path.
      const named = new Set([...needed, ...this.list().map(({ dir }) => dir)].map((dir) => basename(dir)))
      for (const dir of await uploadDirs(this.#home)) if (!named.has(basename(dir))) await removeTree(dir)
    })
  }

  async update(name?: string, options: UpdateOptions = {}): Promise<UpdateOutcome[]> {
    await this.refresh()
    const { problem } = this.#current
    if (problem) throw problem
    const outcomes: UpdateOutcome[] = []
    for (const before of name === undefined ? this.list() : [this.#entry(name)]) {
      try {
        const changed = await this.#updateOne(before.name, options)
        outcomes.push({ entry: this.get(before.name), changed, problem: null })
      } catch (error) {
        if (name !== undefined || !(error instanceof ResolveError)) throw error
        outcomes.push({ entry: before, changed: false, problem: error })
      }
    }
    return outcomes
  }

  async #updateOne(name: string, { check, ...options }: UpdateOptions): Promise<boolean> {
    const known = this.#current.stored.get(name)
    const staged = known && (await stageAgain(name, known, this.#home, options))
    if (!staged) return false
    try {
      await check?.(plannedEntry(staged, this.#now()))
    } catch (error) {
      await discardStaged(staged)
      throw error
    }
    await this.#changeWith(staged, async (draft) => {
      // Another process removed or replaced the entry during the fetch: its change stays.
      if (draft.resolvers.get(name)?.source !== sourceText(staged.source)) throw fail('resolver_unknown', { name })
      await enter(draft, staged, { home: this.#home, force: false, now: this.#now() })
    })
    return true
  }

  async remove(name: string): Promise<CatalogEntry> {
    await this.refresh()
    const entry = this.#entry(name)
    await this.#change(async (draft) => {
      if (!draft.resolvers.delete(name)) throw fail('resolver_unknown', { name })
      if (this.#builtins.manifest(name)) draft.removed_builtins = [...new Set([...draft.removed_builtins, name])]
    })
    return entry
  }

  watch(onChange: () => void): () => void {
    this.#listeners.add(onChange)
    const manifests = () => this.#current.manifestPaths()
    this.#stopWatching ??= watchCatalog({ home: this.#home, file: this.#file, manifests }, () => this.refresh())
    return () => {
      this.#listeners.delete(onChange)
      if (this.#listeners.size === 0) void this.#endWatch()
    }
  }

  async refresh(): Promise<void> {
    if (!(await this.#current.refresh())) return
    for (const listener of this.#listeners) listener()
  }

  async close(): Promise<void> {
    this.#listeners.clear()
    await this.#endWatch()
    for (const staged of this.#planned.values()) await discardStaged(staged)
    this.#planned.clear()
  }

  /**
   * Reads the file, lets `work` change the draft, and replaces the file, all under the lock, so that no other writer's change
   * is lost.
   */
  async #change(work: (draft: StoredCatalog) => Promise<void>): Promise<void> {
    await inHome(this.#home, async () => {
      await mkdir(this.#home, { recursive: true, mode: 0o700 })
      await withLock(`${this.#file}.lock`, async () => {
        const { stored, problem } = await readCatalogFile(this.#file)
        if (problem) throw problem
        this.#builtins.seed(stored, this.#now())
        await work(stored)
        await writeCatalogFile(this.#file, stored)
      })
    })
    await this.refresh()
  }

  /** Like #change; also removes what was fetched when it fails. */
  async #changeWith(staged: StagedResolver, work: (draft: StoredCatalog) => Promise<void>): Promise<void> {
    try {
      await this.#change(work)
    } catch (error) {
      await discardStaged(staged)
      throw error
    }
  }

  async #endWatch(): Promise<void> {
    const stop = this.#stopWatching
    this.#stopWatching = undefined
    await stop?.()
  }
}

function keyOf(source: string, cwd: string): string {
  return `${resolve(cwd)}\0${source.trim()}`
}
