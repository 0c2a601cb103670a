/** A page of the instances of a home, newest first: for {@link file://./local.ts}. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { PAGE_MAX_BYTES } from '../limits.ts'
import type { InstanceRecord } from '../protocol/instance.ts'
import { isTerminal, type Status } from '../protocol/status.ts'
import { instanceIds, instancePaths } from '../store/home.ts'
import { orderOf } from './local-checks.ts'
import type { InstanceFilter, InstancePage } from './platform.ts'
import { readSoundRecord } from './sound-reads.ts'

/** What the place of an instance in a list depends on. */
export interface Listed {
  id: string
  order: string
  status: Status
  resolver: string
}

/** How long a list keeps the others of its process waiting at a time. */
const TURN_MS = 10

/**
 * `ended` remembers, for a process that lists often, what can't change any more. Records are held for the page alone: an input
 * may have a megabyte, and a home thousands of them.
 */
export async function listInstances(
  home: string,
  filter: InstanceFilter,
  ended = new Map<string, Listed>(),
): Promise<InstancePage> {
  const { cursor, limit } = filter
  const breathe = breathing()
  const all = await fitting(home, filter, ended, breathe)
  const rest = cursor === undefined ? all : all.filter(({ order }) => order < cursor)
  const records: InstanceRecord[] = []
  let bytes = 0
  for (const { id } of rest) {
    if (records.length === limit) break
    const record = readSoundRecord(instancePaths(home, id))
    // Removed meanwhile, or gone on.
    if (record === undefined || !fits(record, filter)) continue
    if (limit !== undefined) bytes += JSON.stringify(record).length
    // As many as fit, but one always: a page is answered whole.
    if (bytes > PAGE_MAX_BYTES && records.length > 0) break
    records.push(record)
    await breathe()
  }
  const last = records.at(-1)
  const isWhole = last === undefined || rest.at(-1)?.order === orderOf(last)
  return { records, cursor: isWhole ? null : orderOf(last) }
}

async function fitting(
  home: string,
  filter: InstanceFilter,
  ended: Map<string, Listed>,
  breathe: () => Promise<void>,
): Promise<Listed[]> {
  const found: Listed[] = []
  const ids = instanceIds(home)
  const present = new Set(ids)
  for (const id of ended.keys()) if (!present.has(id)) ended.delete(id)
  for (const id of ids) {
    const listed = ended.get(id) ?? listedOf(home, id)
    if (listed === undefined) continue
    if (isTerminal(listed.status)) ended.set(id, listed)
    if (fits(listed, filter)) found.push(listed)
    await breathe()
  }
  return found.sort((a, b) => (a.order < b.order ? 1 : -1))
}

function listedOf(home: string, id: string): Listed | undefined {
  const record = readSoundRecord(instancePaths(home, id))
  if (record === undefined) return undefined
  return { id, order: orderOf(record), status: record.status, resolver: record.resolver }
}

function fits({ status, resolver }: { status: Status; resolver: string }, filter: InstanceFilter): boolean {
  if (filter.status !== undefined && !filter.status.includes(status)) return false
  return filter.resolver === undefined || filter.resolver === resolver
}

function breathing(): () => Promise<void> {
  let since = performance.now()
  return async () => {
    if (performance.now() - since < TURN_MS) return
    await nextTurn()
    since = performance.now()
  }
}
