/** A page of the instances of a home, newest first: for {@link file://./local.ts}. */
import { PAGE_MAX_BYTES } from '../limits.ts'
import type { InstanceRecord } from '../protocol/instance.ts'
import { instanceIds, instancePaths } from '../store/home.ts'
import { orderOf } from './local-checks.ts'
import type { InstanceFilter, InstancePage } from './platform.ts'
import { readSoundRecord } from './sound-reads.ts'

export function listInstances(home: string, filter: InstanceFilter): InstancePage {
  const records: InstanceRecord[] = []
  for (const id of instanceIds(home)) {
    const record = readSoundRecord(instancePaths(home, id))
    if (record === undefined) continue
    if (filter.status !== undefined && !filter.status.includes(record.status)) continue
    if (filter.resolver !== undefined && record.resolver !== filter.resolver) continue
    records.push(record)
  }
  records.sort((a, b) => (orderOf(a) < orderOf(b) ? 1 : -1))
  const { cursor, limit } = filter
  const from = cursor === undefined ? 0 : records.findIndex((record) => orderOf(record) < cursor)
  const rest = from === -1 ? [] : records.slice(from)
  const page = limit === undefined ? rest : bounded(rest.slice(0, limit))
  const last = page.at(-1)
  return { records: page, cursor: page.length < rest.length && last !== undefined ? orderOf(last) : null }
}

/** As many as fit, but one always: an input may have a megabyte, and a page is answered whole. */
function bounded(records: InstanceRecord[]): InstanceRecord[] {
  let bytes = 0
  const tooMany = records.findIndex((record) => {
    bytes += JSON.stringify(record).length
    return bytes > PAGE_MAX_BYTES
  })
  return tooMany === -1 ? records : records.slice(0, Math.max(1, tooMany))
}
