/**
 * The schedules as they were last read, and when each is due next: a look at a file that did not change costs one `stat`.
 * {@link file://./runner.ts} looks every second.
 */
import { type BigIntStats, lstatSync } from 'node:fs'
import { INDEX_SETTLED_MS } from '../limits.ts'
import { nextDue } from './due-times.ts'
import { type KeptSchedule, readSchedules, schedulesPath } from './schedule-file.ts'

interface Known {
  print: string
  schedules: readonly KeptSchedule[]
}

export class KnownSchedules {
  readonly #home: string
  #known: Known | undefined
  /** By schedule: the first due time that is not decided, and what it was computed from. */
  #due = new Map<string, { from: string; due: number }>()

  constructor(home: string) {
    this.#home = home
  }

  /** The same objects until the file changes; the caller does not alter them. Throws `schedules_broken`. */
  read(): readonly KeptSchedule[] {
    // Taken before the file is read: a change meanwhile is read the next time.
    const print = printOf(lstatSync(schedulesPath(this.#home), { bigint: true, throwIfNoEntry: false }))
    if (print !== undefined && print === this.#known?.print) return this.#known.schedules
    const schedules = readSchedules(this.#home)
    this.#known = print === undefined ? undefined : { print, schedules }
    const ids = new Set(schedules.map(({ id }) => id))
    for (const id of this.#due.keys()) if (!ids.has(id)) this.#due.delete(id)
    return schedules
  }

  /** Whether a due time up to `now` is not decided. Throws the error of an expression that is none. */
  isDue({ id, cron, timezone, handled_until }: KeptSchedule, now: Date): boolean {
    const from = `${cron}\n${timezone}\n${handled_until}`
    let known = this.#due.get(id)
    if (known?.from !== from) {
      const due = nextDue(cron, timezone, new Date(handled_until))?.getTime() ?? Number.POSITIVE_INFINITY
      known = { from, due }
      this.#due.set(id, known)
    }
    return known.due <= now.getTime()
  }
}

/** Undefined for a file that may change again with the same times: they have the resolution of the kernel's clock tick. */
function printOf(found: BigIntStats | undefined): string | undefined {
  if (found === undefined || Date.now() - Number(found.ctimeMs) <= INDEX_SETTLED_MS) return undefined
  return `${found.ino}:${found.size}:${found.mtimeNs}:${found.ctimeNs}`
}
