/** When a schedule is due: cron expressions of five fields in a time zone. The only file that uses the cron library. */
import { Cron } from 'croner'
import { fail } from '../errors.ts'
import { SCHEDULE_DUE_MAX } from '../limits.ts'

/** The machine's time zone. */
export function localTimezone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC'
}

/** Throws `schedule_invalid` for an expression or a time zone that is not one, and for one that is never due. */
export function requireDueTimes(cron: string, timezone: string, now: Date): void {
  try {
    new Intl.DateTimeFormat('en', { timeZone: timezone })
  } catch (error) {
    const problem = `There is no time zone "${timezone}"; write an IANA name such as Europe/Berlin.`
    throw fail('schedule_invalid', { problem }, { cause: error })
  }
  const problem = `"${cron}" is no cron expression of five fields (minute hour day month weekday), such as "0 7 * * 1-5", or @daily.`
  // The library also takes a single time.
  if (!/^\s*(?:@\w+|\S+(?:\s+\S+){4})\s*$/.test(cron)) throw fail('schedule_invalid', { problem })
  let next: Date | null
  try {
    next = open(cron, timezone).nextRun(now)
  } catch (error) {
    throw fail('schedule_invalid', { problem: wrongField(cron) ?? problem }, { cause: error })
  }
  if (next === null) throw fail('schedule_invalid', { problem: `"${cron}" is never due.` })
}

const FIELDS = [
  ['minute', '0 to 59'],
  ['hour', '0 to 23'],
  ['day', '1 to 31'],
  ['month', '1 to 12, or JAN to DEC'],
  ['weekday', '0 to 7, or SUN to SAT; 0 and 7 are Sunday'],
] as const

/** Names the first of five fields that alone makes an expression invalid. */
function wrongField(cron: string): string | undefined {
  const fields = cron.trim().split(/\s+/)
  if (fields.length !== FIELDS.length) return undefined
  for (const [at, [name, values]] of FIELDS.entries()) {
    const alone = FIELDS.map((_, other) => (other === at ? fields[at] : '*')).join(' ')
    try {
      open(alone, 'UTC')
    } catch {
      return `"${fields[at]}" is no ${name} of a cron expression, in "${cron}"; it is ${values}.`
    }
  }
  return undefined
}

export function nextDue(cron: string, timezone: string, after: Date): Date | null {
  return open(cron, timezone).nextRun(after)
}

/** The due times after `after` up to `until`, oldest first: the last ones where there are more than {@link SCHEDULE_DUE_MAX}. */
export function dueBetween(cron: string, timezone: string, after: Date, until: Date): { times: Date[]; count: number } {
  const pattern = open(cron, timezone)
  const times: Date[] = []
  let count = 0
  for (let due = pattern.nextRun(after); due !== null && due <= until; due = pattern.nextRun(due)) {
    times.push(due)
    count += 1
    if (times.length > SCHEDULE_DUE_MAX) {
      // A server that was down for a year need not count each minute of it.
      const [last] = pattern.previousRuns(1, new Date(until.getTime() + 1))
      return { times: last === undefined ? times : [last], count }
    }
  }
  return { times, count }
}

function open(cron: string, timezone: string): Cron {
  return new Cron(cron, { timezone, mode: '5-part' })
}
