/** A page of the instances of a home, newest first: for {@link file://./local.ts}. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { PAGE_MAX_BYTES } from '../../limits.ts'
import type { InstanceRecord } from '../../protocol/instance.ts'
import { isTerminal } from '../../protocol/status.ts'
import { instancePaths } from '../../store/home.ts'
import { findableIn, InstanceIndex, orderOf } from '../../store/instance-index.ts'
import { type IndexEntry, UNSETTLED } from '../../store/instance-index-file.ts'
import { fitsNarrowing, isFound, isInTime, needsWords } from '../../view/find-words.ts'
import type { InstanceFilter, InstancePage } from '../platform.ts'
import { readSoundRecord } from './sound-reads.ts'

/** How long a list runs before it yields to other work of its process. */
const TURN_MS = 10

/**
 * A process that lists often keeps `index`. Only the records of the page are read, because an input can have a megabyte, and
 * a home thousands of instances.
 */
export async function listInstances(
  home: string,
  filter: InstanceFilter,
  index = new InstanceIndex(home),
): Promise<InstancePage> {
  const page = await readPage(home, filter, index)
  if (!page.isMisplaced) return page
  // The index does not match the instances: read once more without it.
  index.distrust()
  return await readPage(home, filter, index)
}

/** `isMisplaced`: an instance has another position than the index says, so the page may lack one. */
async function readPage(
  home: string,
  filter: InstanceFilter,
  index: InstanceIndex,
): Promise<InstancePage & { isMisplaced: boolean }> {
  const { cursor, limit, since } = filter
  const yieldTurn = breathing()
  const entries = await index.newestFirst(yieldTurn)
  const records: InstanceRecord[] = []
  let bytes = 0
  let isMisplaced = false
  const rest = cursor === undefined ? entries : entries.slice(firstAfter(entries, cursor))
  for (const entry of rest) {
    if (since !== undefined && entry.order < since) break
    // Most entries of a large home are skipped here, without reading the instance.
    if (!fitsForever(entry, filter) || hasEndedOtherwise(entry, filter)) continue
    const pause = yieldTurn()
    if (pause !== undefined) await pause
    if (isReadToFit(filter) && !(await mayFit(entry, filter, index))) continue
    const record = await readSoundRecord(instancePaths(home, entry.id))
    // It was removed or changed its status meanwhile.
    if (record === undefined || !fitsNarrowing(record, filter)) continue
    isMisplaced ||= orderOf(record) !== entry.order
    if (limit !== undefined) bytes += JSON.stringify(record).length
    const last = records.at(-1)
    // As many as fit; one is always returned, so that a page is never empty before the end.
    if (last !== undefined && (records.length === limit || bytes > PAGE_MAX_BYTES)) {
      return { records, cursor: orderOf(last), isMisplaced }
    }
    records.push(record)
  }
  index.save()
  return { records, cursor: null, isMisplaced }
}

/** The index of the first entry after the cursor. */
function firstAfter(entries: readonly IndexEntry[], cursor: string): number {
  const found = entries.findIndex(({ order }) => order < cursor)
  return found === -1 ? entries.length : found
}

/** By what never changes. */
function fitsForever(entry: IndexEntry, filter: InstanceFilter): boolean {
  if (filter.resolver !== undefined && filter.resolver !== entry.resolver) return false
  return (filter.since === undefined && filter.until === undefined) || isInTime(createdAt(entry), filter)
}

/** Whether an instance has ended with a status that the filter does not name. */
function hasEndedOtherwise({ isFinal, status, fingerprint }: IndexEntry, filter: InstanceFilter): boolean {
  if (filter.status?.includes(status) !== false) return false
  return isFinal || (filter.trustsEnds === true && isTerminal(status) && fingerprint !== UNSETTLED)
}

/** Whether an instance must be read to say that it fits. */
function isReadToFit(filter: InstanceFilter): boolean {
  return filter.status !== undefined || needsWords(filter)
}

async function mayFit({ id }: IndexEntry, filter: InstanceFilter, index: InstanceIndex): Promise<boolean> {
  try {
    const anew = needsWords(filter)
    let now = index.unchanged(id, { anew })
    if (now === undefined) {
      await index.ready(id)
      now = index.read(id, { anew })
    }
    return filter.status?.includes(now.status) !== false && (!anew || isFound(findableIn(now), filter))
  } catch {
    return false
  }
}

function createdAt({ order }: IndexEntry): string {
  return order.slice(0, order.indexOf('|'))
}

/** Returns a promise to await when it is time to yield, and mostly undefined, because each await costs time. */
function breathing(): () => Promise<void> | undefined {
  let since = performance.now()
  return () => {
    if (performance.now() - since < TURN_MS) return undefined
    return nextTurn().then(() => {
      since = performance.now()
    })
  }
}
