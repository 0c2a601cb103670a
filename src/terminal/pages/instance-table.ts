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
  { title: 'LABELS', flexible: true },
  { title: 'AGE' },
]

const LABELS = COLUMNS.findIndex(({ title }) => title === 'LABELS')

/** Labels have a column where an instance has some; it is the first that a narrow terminal leaves out. */
export function instanceTable(records: readonly InstanceRecord[], now: number, width: number | undefined): string[] {
  const rows = waitingFirst(records).map((record) => [
    record.instance_id,
    standingText(record),
    cleanLine(record.resolver),
    cleanLine(record.name ?? ''),
    cleanLine(record.phase ?? ''),
    labelText(record.labels ?? {}),
    ageText(record.created_at, now),
  ])
  const hasLabels = rows.some((row) => row[LABELS] !== '')
  const chosen = <T>(cells: readonly T[]) => (hasLabels ? cells : cells.filter((_, at) => at !== LABELS))
  return tableLines(chosen(COLUMNS), rows.map(chosen), width)
}

/**
 * How many of the instances a terminal of so many rows shows with the title, a note below and the next prompt: all that wait for an answer, and
 * then as many as fit.
 */
export function fitting(records: readonly InstanceRecord[], rows: number): InstanceRecord[] {
  const waiting = records.filter(waits).length
  return waitingFirst(records).slice(0, Math.max(waiting, rows - ROWS_AROUND, FEWEST))
}

/** The titles, the note, and a prompt of two lines. */
const ROWS_AROUND = 4
const FEWEST = 5

export function waitingFirst(records: readonly InstanceRecord[]): InstanceRecord[] {
  return [...records.filter(waits), ...records.filter((record) => !waits(record))]
}

function waits({ status, pending_inputs: pending }: InstanceRecord): boolean {
  return status === 'awaiting_input' || pending > 0
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
