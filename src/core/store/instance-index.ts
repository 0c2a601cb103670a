/**
 * Lists every instance of a home with its status, for lists and for the supervisor. The directory decides which instances
 * exist. An instance is read only when its files changed since the last reading, so ten thousand unchanged ones cost one
 * directory listing.
 */
import { type BigIntStats, type Stats, statSync } from 'node:fs'
import { INDEX_WORTH_PLACES, ROSTER_SETTLED_MS } from '../limits.ts'
import type { InstanceRecord } from '../protocol/instance.ts'
import { isTerminal } from '../protocol/status.ts'
import { type InstancePaths, instanceIds, instancePaths, instancesDirectory } from './home.ts'
import { type Place, readIndex, UNSETTLED, writeIndex } from './instance-index-file.ts'
import { readRecord } from './record.ts'

export interface Standing extends Place {
  /** It has ended, and this was read from the instance itself, not only from the index: it never changes again. */
  isFinal: boolean
}

interface Listing {
  ids: readonly string[]
  /** The modification time of the directory, where it was not changing. */
  print: string
}

export class InstanceIndex {
  readonly #home: string
  readonly #known = new Map<string, Standing>()
  /** How many instances were read or removed since the index was written. */
  #news = 0
  #isLoaded = false
  #listing: Listing | undefined
  #sorted: { of: Listing; places: readonly Standing[] } | undefined

  constructor(home: string) {
    this.#home = home
  }

  /** Every instance id in the home, in any order. Throws `home_unusable`. */
  ids(): readonly string[] {
    return this.#list().ids
  }

  /** The entry of one instance. Throws `journal_broken`, or the system's error for one that cannot be read. */
  look(id: string): Standing {
    this.#load()
    const known = this.#known.get(id)
    if (known?.isFinal) return known
    const paths = instancePaths(this.#home, id)
    const print = printOf(paths)
    if (known !== undefined && print !== UNSETTLED && print === known.print) {
      known.isFinal = isTerminal(known.status)
      return known
    }
    return this.#note(id, readRecord(paths), print)
  }

  /**
   * All readable instances, newest first. A status may be from an earlier reading; only the order is certain. `breathe` is
   * called between reads, and awaited where it returns a promise.
   */
  async newestFirst(breathe: () => Promise<void> | undefined): Promise<readonly Standing[]> {
    this.#load()
    const listing = this.#list()
    if (this.#sorted?.of === listing) return this.#sorted.places
    let isWhole = true
    for (const id of listing.ids) {
      if (this.#known.has(id)) continue
      if (this.#lookSoundly(id) === undefined) isWhole = false
      const pause = breathe()
      if (pause !== undefined) await pause
    }
    // In the order of the index, which is nearly sorted: sorting ten thousand from scratch takes half the time of a list.
    const places = [...this.#known.values()]
    places.sort((a, b) => (a.order < b.order ? 1 : -1))
    this.save()
    // An unreadable instance may be repaired at any time, so it is tried again.
    this.#sorted = isWhole && listing.print !== UNSETTLED ? { of: listing, places } : undefined
    return places
  }

  /** Drops everything known, including the index, after one entry of it proved wrong. */
  distrust(): void {
    this.#known.clear()
    this.#sorted = undefined
    this.#isLoaded = true
  }

  /** Rewrites the index when enough entries are missing from it. */
  save(): void {
    if (this.#news < Math.max(INDEX_WORTH_PLACES, this.#known.size / 64)) return
    this.#news = 0
    writeIndex(this.#home, [...this.#known.values()])
  }

  #lookSoundly(id: string): Standing | undefined {
    try {
      return this.look(id)
    } catch {
      return undefined
    }
  }

  #note(id: string, record: InstanceRecord, print: string): Standing {
    const { status, resolver } = record
    const isFinal = isTerminal(status)
    const known = this.#known.get(id)
    if (known === undefined || print !== UNSETTLED) this.#news += 1
    const order = orderOf(record)
    // Replaced in place, because the sorted list holds the same object.
    if (known?.order === order) return Object.assign(known, { status, resolver, print, isFinal })
    this.#sorted = undefined
    const place = { id, order, status, resolver, print, isFinal }
    this.#known.set(id, place)
    return place
  }

  #load(): void {
    if (this.#isLoaded) return
    this.#isLoaded = true
    const present = new Set(this.ids())
    for (const place of readIndex(this.#home)) {
      if (present.has(place.id)) this.#known.set(place.id, Object.assign(place, { isFinal: false }))
      else this.#news += 1
    }
  }

  #list(): Listing {
    // Taken before the names are read: an instance created meanwhile is found the next time.
    const print = restingPrint(statSync(instancesDirectory(this.#home), { throwIfNoEntry: false, bigint: true }))
    if (this.#listing !== undefined && print !== UNSETTLED && print === this.#listing.print) return this.#listing
    const ids = instanceIds(this.#home)
    if (this.#known.size > 0) this.#drop(new Set(ids))
    this.#listing = { ids, print }
    return this.#listing
  }

  #drop(present: ReadonlySet<string>): void {
    for (const id of this.#known.keys()) {
      if (present.has(id)) continue
      this.#known.delete(id)
      this.#news += 1
    }
  }
}

/** Sort key: creation time, then id within the same millisecond. Also the cursor of a page. */
export function orderOf(record: Pick<InstanceRecord, 'created_at' | 'instance_id'>): string {
  return `${record.created_at}|${record.instance_id}`
}

/**
 * The fingerprint of the files that an instance's record is read from; {@link UNSETTLED} while they change, because a record
 * may be slightly behind its journal.
 */
export function printOf(paths: InstancePaths): string {
  const prints: string[] = []
  for (const path of [paths.journal, paths.record]) {
    const found = statSync(path, { throwIfNoEntry: false })
    if (found === undefined) prints.push('none')
    else if (isResting(found)) prints.push(`${found.ino}:${found.size}:${found.ctimeMs}`)
    else return UNSETTLED
  }
  return prints.join(' ')
}

/** File times have the resolution of the kernel's clock tick: a file that changed just now may change again with the same time. */
function isResting({ mtimeMs, ctimeMs }: Stats): boolean {
  return Date.now() - Math.max(mtimeMs, ctimeMs) > ROSTER_SETTLED_MS
}

function restingPrint(found: BigIntStats | undefined): string {
  if (found === undefined || Date.now() - Number(found.ctimeMs) <= ROSTER_SETTLED_MS) return UNSETTLED
  return `${found.ino}:${found.mtimeNs}:${found.ctimeNs}`
}
