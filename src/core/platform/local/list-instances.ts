/** A page of the instances of a home, newest first: for {@link file://./local.ts}. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { PAGE_MAX_BYTES } from '../../limits.ts'
import type { InstanceRecord } from '../../protocol/instance.ts'
import type { Status } from '../../protocol/status.ts'
import { instancePaths } from '../../store/home.ts'
import { InstanceIndex, orderOf } from '../../store/instance-index.ts'
import type { IndexEntry } from '../../store/instance-index-file.ts'
import type { InstanceFilter, InstancePage } from '../platform.ts'
import { readSoundRecord } from './sound-reads.ts'

/** How long a list keeps the others of its process waiting at a time. */
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
  // The index is not what one of us wrote: once more without it.
  index.distrust()
  return await readPage(home, filter, index)
}

/** `isMisplaced`: an instance does not stand where the instance index has it, so another may be missing. */
async function readPage(
  home: string,
  filter: InstanceFilter,
  index: InstanceIndex,
): Promise<InstancePage & { isMisplaced: boolean }> {
  const { cursor, limit } = filter
  const yieldTurn = breathing()
  const entries = await index.newestFirst(yieldTurn)
  const records: InstanceRecord[] = []
  let bytes = 0
  let isMisplaced = false
  const rest = cursor === undefined ? entries : entries.slice(firstAfter(entries, cursor))
  for (const entry of rest) {
    // Most of a large home: passed by without a look.
    if (entry.isFinal && !fits(entry, filter)) continue
    const pause = yieldTurn()
    if (pause !== undefined) await pause
    if (!mayFit(entry, filter, index)) continue
    const record = readSoundRecord(instancePaths(home, entry.id))
    // Removed meanwhile, or gone on.
    if (record === undefined || !fits(record, filter)) continue
    isMisplaced ||= orderOf(record) !== entry.order
    if (limit !== undefined) bytes += JSON.stringify(record).length
    const last = records.at(-1)
    // As many as fit, but one always: a page is answered whole.
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

function mayFit(entry: IndexEntry, filter: InstanceFilter, index: InstanceIndex): boolean {
  if (filter.resolver !== undefined && filter.resolver !== entry.resolver) return false
  if (filter.status === undefined) return true
  try {
    return filter.status.includes(index.read(entry.id).status)
  } catch {
    return false
  }
}

function fits({ status, resolver }: { status: Status; resolver: string }, filter: InstanceFilter): boolean {
  if (filter.status !== undefined && !filter.status.includes(status)) return false
  return filter.resolver === undefined || filter.resolver === resolver
}

/** Answers what to wait for, where it is time for the others; it mostly is not, and a wait for nothing costs too. */
function breathing(): () => Promise<void> | undefined {
  let since = performance.now()
  return () => {
    if (performance.now() - since < TURN_MS) return undefined
    return nextTurn().then(() => {
      since = performance.now()
    })
  }
}
