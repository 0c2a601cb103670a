/** A page of the instances of a home, newest first: for {@link file://./local.ts}. */
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
  const page = limit === undefined ? rest : rest.slice(0, limit)
  const last = page.at(-1)
  return { records: page, cursor: page.length < rest.length && last !== undefined ? orderOf(last) : null }
}
