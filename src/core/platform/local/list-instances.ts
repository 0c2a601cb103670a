/** A page of the instances of a home in the order of their creation, and how many there are: for {@link file://./local.ts}. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { PAGE_MAX_BYTES } from '../../limits.ts'
import type { InstanceRecord, StatusCounts } from '../../protocol/instance.ts'
import { isTerminal } from '../../protocol/status.ts'
import { instancePaths } from '../../store/home.ts'
import { findableIn, InstanceIndex, orderOf } from '../../store/instance-index.ts'
import { type IndexEntry, UNSETTLED } from '../../store/instance-index-file.ts'
import { fitsNarrowing, isFound, isInTime, type Narrowing, needsWords } from '../../view/find-words.ts'
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
  const { oldestFirst = false } = filter
  for (const entry of oldestFirst ? entries.toReversed() : entries) {
    if (cursor !== undefined && (oldestFirst ? entry.order <= cursor : entry.order >= cursor)) continue
    if (!oldestFirst && since !== undefined && entry.order < since) break
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

/** How many instances fit, for each status that one of them has. Reads only those that have not ended, or whose words are asked for. */
export async function countInstances(narrowing: Narrowing, index: InstanceIndex): Promise<StatusCounts> {
  const yieldTurn = breathing()
  const counts: StatusCounts = {}
  for (const entry of await index.newestFirst(yieldTurn)) {
    if (!fitsForever(entry, narrowing)) continue
    const pause = yieldTurn()
    if (pause !== undefined) await pause
    const now = await fittingNow(entry, narrowing, index)
    if (now !== undefined) counts[now.status] = (counts[now.status] ?? 0) + 1
  }
  return counts
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

async function mayFit(entry: IndexEntry, filter: InstanceFilter, index: InstanceIndex): Promise<boolean> {
  return (await fittingNow(entry, filter, index)) !== undefined
}

/** The entry as it is now; undefined for an instance that does not fit, or cannot be read. */
async function fittingNow(
  { id }: IndexEntry,
  filter: Narrowing,
  index: InstanceIndex,
): Promise<IndexEntry | undefined> {
  try {
    const anew = needsWords(filter)
    let now = index.unchanged(id, { anew })
    if (now === undefined) {
      await index.ready(id)
      now = index.read(id, { anew })
    }
    const isFit = filter.status?.includes(now.status) !== false && (!anew || isFound(findableIn(now), filter))
    return isFit ? now : undefined
  } catch {
    return undefined
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
