/**
 * Lists every instance of a home with its status, for lists and for the supervisor. The directory decides which instances
 * exist. An instance is read only when its files changed since the last reading, so ten thousand unchanged ones cost one
 * directory listing.
 */
import { type BigIntStats, type Stats, statSync } from 'node:fs'
import { INDEX_SETTLED_MS, INDEX_WORTH_ENTRIES, RECORD_KEPT_MIN_BYTES } from '../limits.ts'
import type { InstanceRecord, Labels } from '../protocol/instance.ts'
import { isTerminal } from '../protocol/status.ts'
import { type Findable, findableOf } from '../view/find-words.ts'
import { type InstancePaths, instanceIds, instancePaths, instancesDirectory } from './home.ts'
import { type IndexEntry, readIndex, UNSETTLED, writeIndex } from './instance-index-file.ts'
import { readRecord, readRecordInTurns } from './record.ts'

interface Listing {
  ids: readonly string[]
  /** The modification time of the directory, where it was not changing. */
  fingerprint: string
}

export class InstanceIndex {
  readonly #home: string
  readonly #directory: string
  readonly #known = new Map<string, IndexEntry>()
  /** How many instances were read or removed since the index was written. */
  #unindexed = 0
  #isLoaded = false
  #listing: Listing | undefined
  #sorted: { of: Listing; entries: readonly IndexEntry[] } | undefined

  constructor(home: string) {
    this.#home = home
    this.#directory = instancesDirectory(home)
  }

  /** Every instance id in the home, in any order. Throws `home_unusable`. */
  ids(): readonly string[] {
    return this.#list().ids
  }

  /** The entry of one instance; `anew`: with its name and labels as they are now. Throws `journal_broken`, or the system's error for one that cannot be read. */
  read(id: string, { anew = false } = {}): IndexEntry {
    const known = this.unchanged(id, { anew })
    if (known !== undefined) return known
    const paths = instancePaths(this.#home, id)
    // Taken before the instance is read: lines that are written meanwhile are read the next time.
    const fingerprint = this.#fingerprintOf(id)
    return this.#note(id, readRecord(paths), fingerprint)
  }

  /**
   * The entry of one instance where it need not be read, because it has ended or its files are unchanged. Lists call it for each of
   * thousands of instances: it takes one call of the system at most.
   */
  unchanged(id: string, { anew = false } = {}): IndexEntry | undefined {
    this.#load()
    const known = this.#known.get(id)
    // One that has ended may still get another name, and other labels.
    if (known === undefined || (known.isFinal && !anew)) return known
    if (known.fingerprint === UNSETTLED || known.fingerprint !== this.#fingerprintOf(id)) return undefined
    known.isFinal = isTerminal(known.status)
    return known
  }

  /**
   * Resolves when {@link read} will not read a long journal at once: its record is read before, in turns. Undefined where it
   * need not be awaited. Never rejects: `read` says what is wrong.
   */
  ready(id: string): Promise<unknown> | undefined {
    this.#load()
    if (this.#known.get(id)?.isFinal) return undefined
    const paths = instancePaths(this.#home, id)
    const size = statSync(paths.journal, { throwIfNoEntry: false })?.size ?? 0
    return size < RECORD_KEPT_MIN_BYTES ? undefined : readRecordInTurns(paths).catch(() => undefined)
  }

  /**
   * All readable instances, newest first. A status may be from an earlier reading; only the order is certain. `yieldTurn` is
   * called between reads, and awaited where it returns a promise.
   */
  async newestFirst(yieldTurn: () => Promise<void> | undefined): Promise<readonly IndexEntry[]> {
    this.#load()
    const listing = this.#list()
    if (this.#sorted?.of === listing) return this.#sorted.entries
    let isWhole = true
    for (const id of listing.ids) {
      if (this.#known.has(id)) continue
      const prepared = this.ready(id)
      if (prepared !== undefined) await prepared
      if (this.#tryRead(id) === undefined) isWhole = false
      const pause = yieldTurn()
      if (pause !== undefined) await pause
    }
    // In the order of the index, which is nearly sorted: sorting ten thousand from scratch takes half the time of a list.
    const entries = [...this.#known.values()]
    entries.sort((a, b) => (a.order < b.order ? 1 : -1))
    this.save()
    // An unreadable instance may be repaired at any time, so it is tried again.
    this.#sorted = isWhole && listing.fingerprint !== UNSETTLED ? { of: listing, entries } : undefined
    return entries
  }

  /** Drops everything known, including the index, after one entry of it proved wrong. */
  distrust(): void {
    this.#known.clear()
    this.#sorted = undefined
    this.#isLoaded = true
  }

  /** Rewrites the index when enough entries are missing from it. */
  save(): void {
    if (this.#unindexed < Math.max(INDEX_WORTH_ENTRIES, this.#known.size / 64)) return
    this.#unindexed = 0
    writeIndex(this.#home, [...this.#known.values()])
  }

  #tryRead(id: string): IndexEntry | undefined {
    try {
      return this.read(id)
    } catch {
      return undefined
    }
  }

  #note(id: string, record: InstanceRecord, fingerprint: string): IndexEntry {
    const { status, resolver } = record
    const isFinal = isTerminal(status)
    const words = toWords(record)
    const known = this.#known.get(id)
    if (known === undefined || fingerprint !== UNSETTLED) this.#unindexed += 1
    const order = orderOf(record)
    // The index says that it has ended, and it has not: its files were put back. Lists that trust the index must not miss it again.
    if (known !== undefined && isTerminal(known.status) && !isFinal) this.#unindexed = Number.POSITIVE_INFINITY
    // Replaced in entry, because the sorted list holds the same object.
    if (known?.order === order) return Object.assign(known, { status, resolver, fingerprint, isFinal, words })
    this.#sorted = undefined
    const entry = { id, order, status, resolver, fingerprint, isFinal, words }
    this.#known.set(id, entry)
    return entry
  }

  /** Of the journal, from which all the rest follows; of the record where there is no journal. */
  #fingerprintOf(id: string): string {
    const root = `${this.#directory}/${id}`
    return printOf(`${root}/journal`) ?? printOf(`${root}/record.json`) ?? 'none'
  }

  #load(): void {
    if (this.#isLoaded) return
    this.#isLoaded = true
    const ids = this.ids()
    for (const entry of readIndex(this.#home)) this.#known.set(entry.id, entry)
    let present = 0
    for (const id of ids) if (this.#known.has(id)) present += 1
    if (present < this.#known.size) this.#drop(new Set(ids))
  }

  #list(): Listing {
    // Taken before the names are read: an instance created meanwhile is found the next time.
    const fingerprint = restingPrint(statSync(instancesDirectory(this.#home), { throwIfNoEntry: false, bigint: true }))
    if (this.#listing !== undefined && fingerprint !== UNSETTLED && fingerprint === this.#listing.fingerprint)
      return this.#listing
    const ids = instanceIds(this.#home)
    if (this.#known.size > 0) this.#drop(new Set(ids))
    this.#listing = { ids, fingerprint }
    return this.#listing
  }

  #drop(present: ReadonlySet<string>): void {
    for (const id of this.#known.keys()) {
      if (present.has(id)) continue
      this.#known.delete(id)
      this.#unindexed += 1
    }
  }
}

/** What {@link isFound} compares, from an entry. */
export function findableIn({ id, resolver, words }: IndexEntry): Findable {
  const [name, labels, input] = (words === '' ? [null, {}, ''] : JSON.parse(words)) as [string | null, Labels, string]
  return { id, resolver, name, labels, input }
}

/** ASCII, because the index is read byte by byte. */
function toWords(record: InstanceRecord): string {
  const { name, labels, input } = findableOf(record)
  if (name === null && input === '' && Object.keys(labels).length === 0) return ''
  return JSON.stringify([name, labels, input]).replace(
    NOT_ASCII,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

const NOT_ASCII = /[^ -~]/g

/** Sort key: creation time, then id within the same millisecond. Also the cursor of a page. */
export function orderOf(record: Pick<InstanceRecord, 'created_at' | 'instance_id'>): string {
  return `${record.created_at}|${record.instance_id}`
}

/**
 * The fingerprint of the files that an instance's record is read from; {@link UNSETTLED} while they change, because a record
 * may be slightly behind its journal.
 */
export function fingerprintOf(paths: InstancePaths): string {
  const prints: string[] = []
  for (const path of [paths.journal, paths.record]) {
    const print = printOf(path) ?? 'none'
    if (print === UNSETTLED) return UNSETTLED
    prints.push(print)
  }
  return prints.join(' ')
}

function printOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return undefined
  return isResting(found) ? `${found.ino}:${found.size}:${found.ctimeMs}` : UNSETTLED
}

/** File times have the resolution of the kernel's clock tick: a file that changed just now may change again with the same time. */
function isResting({ mtimeMs, ctimeMs }: Stats): boolean {
  return Date.now() - Math.max(mtimeMs, ctimeMs) > INDEX_SETTLED_MS
}

function restingPrint(found: BigIntStats | undefined): string {
  if (found === undefined || Date.now() - Number(found.ctimeMs) <= INDEX_SETTLED_MS) return UNSETTLED
  return `${found.ino}:${found.mtimeNs}:${found.ctimeNs}`
}
