/** Formats schedules for the schedule commands. */
import type { Schedule } from '../../core/index.ts'
import { cleanLine } from '../../core/view/clean.ts'
import { tableLines } from '../output/table.ts'
import { minuteText } from './token-words.ts'

const COLUMNS = [
  { title: 'NAME', flexible: true },
  { title: 'CRON', flexible: true },
  { title: 'ZONE', flexible: true },
  { title: 'RESOLVER', flexible: true },
  { title: 'NEXT' },
  { title: 'LAST', flexible: true },
  { title: 'MISSED' },
]

export function scheduleTable(schedules: readonly Schedule[], width: number | undefined): string[] {
  const rows = schedules.map((one) => [
    ...[cleanLine(one.name), cleanLine(one.cron), cleanLine(one.timezone), cleanLine(one.resolver)],
    ...[nextText(one), lastText(one), String(one.missed)],
  ])
  return tableLines(COLUMNS, rows, width)
}

/** `hello: due next 2026-12-21 07:00 UTC (0 7 * * 1-5, Europe/Berlin)`. */
export function scheduleWords(one: Schedule): string {
  return `${cleanLine(one.resolver)}: due next ${nextText(one)} (${cleanLine(one.cron)}, ${cleanLine(one.timezone)})`
}

function nextText({ paused, next_at }: Schedule): string {
  if (paused) return 'paused'
  return next_at === null ? 'never' : minuteText(next_at)
}

function lastText({ last }: Schedule): string {
  if (last === null) return '-'
  const what = last.outcome === 'started' ? `started ${last.instance_id}` : `${last.outcome}: ${last.detail ?? ''}`
  return `${minuteText(last.due_at)} ${cleanLine(what)}`
}
