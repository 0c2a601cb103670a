/** The table of `instance list`: instances that wait for an answer first, then the newest. */
import type { InstanceRecord } from '../../core/protocol/instance.ts'
import { cleanLine } from '../../core/view/clean.ts'
import { isLost } from '../../core/view/lost-worker.ts'
import { statusText } from '../../core/view/status-words.ts'
import { ageText } from '../../core/view/time-words.ts'
import { tableLines } from '../output/table.ts'
import { labelText } from './label-text.ts'

const COLUMNS = [
  { title: 'ID' },
  { title: 'STATUS' },
  { title: 'RESOLVER', flexible: true },
  { title: 'NAME', flexible: true },
  { title: 'PHASE', flexible: true },
  { title: 'AGE' },
]

export function instanceTable(records: readonly InstanceRecord[], now: number, width: number | undefined): string[] {
  const rows = waitingFirst(records).map((record) => [
    record.instance_id,
    standingText(record),
    cleanLine(record.resolver),
    cleanLine([record.name ?? '', labelText(record.labels ?? {})].filter(Boolean).join('  ')),
    cleanLine(record.phase ?? ''),
    ageText(record.created_at, now),
  ])
  return tableLines(COLUMNS, rows, width)
}

export function waitingFirst(records: readonly InstanceRecord[]): InstanceRecord[] {
  const waits = (record: InstanceRecord) => record.status === 'awaiting_input' || record.pending_inputs > 0
  return [...records.filter(waits), ...records.filter((record) => !waits(record))]
}

/** The status, and where it needs a person's attention, why. */
function standingText(record: InstanceRecord): string {
  const text = statusText(record.status, record.queue)
  return isLost(record) ? `${text}: worker lost` : text
}

/** The values whose change `list --watch` reports. */
export function standingOf({ status, reason, phase, pending_inputs, queue }: InstanceRecord): string {
  return JSON.stringify([status, reason, phase, pending_inputs, queue?.position ?? 0])
}

/** One change as a line: time, instance, status. */
export function changeLine(record: InstanceRecord): string {
  const who = record.name === null ? record.resolver : `${record.resolver} (${record.name})`
  const cells = [record.updated_at, record.instance_id, standingText(record), cleanLine(who)]
  return [...cells, ...(record.phase === null ? [] : [cleanLine(record.phase)])].join('  ')
}
