/** Formats a line of a log for people: for the command line, its verbose view and the API's text format. Pure. */
import type { LogLine } from '../protocol/log.ts'

/** `10:31:07.042 stderr  text`; the time is local. The text is not cleaned. */
export function logText(line: LogLine): string {
  return `${timeOfDay(line.at)} ${logLabel(line).padEnd(8)} ${line.text}`
}

/** What stands before a line: its level, or where it comes from. */
export function logLabel({ source, level }: LogLine): string {
  return source === 'resolver' ? (level ?? 'info') : source
}

function timeOfDay(at: string): string {
  const time = new Date(at)
  if (Number.isNaN(time.getTime())) return '--:--:--.---'
  const two = (number: number) => String(number).padStart(2, '0')
  const millis = String(time.getMilliseconds()).padStart(3, '0')
  return `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}.${millis}`
}
