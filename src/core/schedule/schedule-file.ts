/** Reads and replaces `<home>/schedules.json` under its lock, for the files beside this one. */
import { join } from 'node:path'
import { fail, systemCode } from '../errors.ts'
import { inHome } from '../files/home-errors.ts'
import { withLock } from '../files/lock.ts'
import { readRegularFile } from '../files/read-regular-file.ts'
import { writeWhole } from '../files/write-whole.ts'
import { SCHEDULES_MAX_BYTES } from '../limits.ts'
import { type Schedule, schedule } from '../protocol/api/schedule.ts'
import { instanceId } from '../protocol/instance.ts'
import { misfit } from '../schema/fits.ts'
import { constant, integer, listOf, nullable, object, optional, type Static, text, time } from '../schema/schema.ts'

const bookkeeping = object({
  /** What becomes of every due time up to this one is decided. */
  handled_until: time(),
  /** Until then an instance of it was being created: due times before were not missed by a server that did not run. */
  busy_until: optional(time()),
  /** The instance that was started last. */
  last_instance_id: nullable(instanceId()),
  /** An instance is being created, by this process: its id is on disk before it exists, as with an Idempotency-Key (R11). */
  claim: nullable(
    object({
      due_at: time(),
      instance_id: instanceId(),
      owner: object({ pid: integer(), startTime: text(), bootId: text() }),
    }),
  ),
})

/** A schedule as it is stored: with what decides about its due times. */
export type KeptSchedule = Schedule & Static<typeof bookkeeping>

const FILE = 'schedules.json'
const SHAPE = object({ schema: constant('resolve.schedules/1'), schedules: listOf(schedule) })

export function schedulesPath(home: string): string {
  return join(home, FILE)
}

/** None where there is no file. Throws `schedules_broken`. */
export function readSchedules(home: string): KeptSchedule[] {
  const path = schedulesPath(home)
  const broken = (reason: string) => fail('schedules_broken', { path, reason })
  let text: string
  try {
    text = readRegularFile(path, (stat) => {
      if (!stat.isFile()) throw broken('it is not a regular file')
      if (stat.size > SCHEDULES_MAX_BYTES) throw broken(`it has more than ${SCHEDULES_MAX_BYTES} bytes`)
    })
  } catch (error) {
    const code = systemCode(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return []
    if (code === undefined) throw error
    throw broken(`it can't be read (${code})`)
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw broken('it is not JSON')
  }
  const fault = misfit(SHAPE, value)
  if (fault !== undefined) throw broken(`${fault} is not what it must be`)
  const { schedules } = value as { schedules: KeptSchedule[] }
  for (const [at, one] of schedules.entries()) {
    const wrong = misfit(bookkeeping, one)
    if (wrong !== undefined) throw broken(`/schedules/${at}${wrong} is not what it must be`)
  }
  return schedules
}

/**
 * Changes the schedules; one process of the home at a time, and durable when it returns. `change` may alter the list in place, and nothing
 * is written where it returns `unchanged`. Throws `schedules_broken`, `disk_full`, `home_unusable`, `lock_held`.
 */
export async function changeSchedules<T>(
  home: string,
  change: (schedules: KeptSchedule[]) => { result: T; unchanged?: boolean },
): Promise<T> {
  return await inHome(home, () =>
    withLock(join(home, 'schedules.lock'), async () => {
      const schedules = readSchedules(home)
      const { result, unchanged = false } = change(schedules)
      if (!unchanged) {
        const whole = { schema: 'resolve.schedules/1', schedules }
        await writeWhole(schedulesPath(home), `${JSON.stringify(whole, null, 2)}\n`, { mode: 0o600, durable: true })
      }
      return result
    }),
  )
}
