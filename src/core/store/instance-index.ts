/**
 * Where every instance of a home stands, for lists and for who looks after those that are up. What exists is what the directory
 * says; an instance is read when its files changed since it was read last, and ten thousand that rest cost a look at the directory.
 */
import { type BigIntStats, type Stats, statSync } from 'node:fs'
import { INDEX_WORTH_PLACES, ROSTER_SETTLED_MS } from '../limits.ts'
import type { InstanceRecord } from '../protocol/instance.ts'
import { isTerminal } from '../protocol/status.ts'
import { type InstancePaths, instanceIds, instancePaths, instancesDirectory } from './home.ts'
import { type Place, readIndex, UNSETTLED, writeIndex } from './instance-index-file.ts'
import { readRecord } from './record.ts'

export interface Standing extends Place {
  /** It has ended, and not by what the index says alone: nothing of it changes any more. */
  isFinal: boolean
}

interface Listing {
  ids: readonly string[]
  /** Of the directory, where it had come to rest. */
  print: string
}

export class InstanceIndex {
  readonly #home: string
  readonly #known = new Map<string, Standing>()
  /** How many were read, or are gone, since the index was written. */
  #news = 0
  #isLoaded = false
  #listing: Listing | undefined
  #sorted: { of: Listing; places: readonly Standing[] } | undefined

  constructor(home: string) {
    this.#home = home
  }

  /** Every instance id in the home, in no order. Throws `home_unusable`. */
  ids(): readonly string[] {
    return this.#list().ids
  }

  /** Where an instance stands now. Throws `journal_broken` and what the system says for one that can't be read. */
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
   * All that can be read, newest first. Their statuses may be those of an earlier look: only the order is sure.
   * `breathe` is called between reads, and waited for where it answers something.
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
    // As the index has them, which is nearly in order: sorting ten thousand from scratch is half of a list.
    const places = [...this.#known.values()]
    places.sort((a, b) => (a.order < b.order ? 1 : -1))
    this.save()
    // One that can't be read may be mended any time.
    this.#sorted = isWhole && listing.print !== UNSETTLED ? { of: listing, places } : undefined
    return places
  }

  /** Forgets all that it knew, and what the index says: one of it was found to be wrong. */
  distrust(): void {
    this.#known.clear()
    this.#sorted = undefined
    this.#isLoaded = true
  }

  /** Writes the index anew where enough is not in it to be worth it. */
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
    // In place: it stands in the sorted list too.
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
    // Before the names are read: what comes in between is found the next time.
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

/** Sorts by creation, and by id within the same millisecond; also a page's cursor. */
export function orderOf(record: Pick<InstanceRecord, 'created_at' | 'instance_id'>): string {
  return `${record.created_at}|${record.instance_id}`
}

/** Names the very files an instance's record is read from; {@link UNSETTLED} while they change, for a record may be a moment behind its journal. */
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

/** A file's times are as coarse as the kernel's clock: what changed just now may change again without a trace. */
function isResting({ mtimeMs, ctimeMs }: Stats): boolean {
  return Date.now() - Math.max(mtimeMs, ctimeMs) > ROSTER_SETTLED_MS
}

function restingPrint(found: BigIntStats | undefined): string {
  if (found === undefined || Date.now() - Number(found.ctimeMs) <= ROSTER_SETTLED_MS) return UNSETTLED
  return `${found.ino}:${found.mtimeNs}:${found.ctimeNs}`
}
