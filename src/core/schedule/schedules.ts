/** Adds, lists, pauses and removes the schedules of a home (R72). The platform calls it; {@link file://./runner.ts} runs them. */

import { randomBytes } from 'node:crypto'
import { fail, ResolveError } from '../errors.ts'
import { SCHEDULES_MAX } from '../limits.ts'
import { nearestDetail } from '../primitives/nearest.ts'
import type { NewSchedule, Schedule } from '../protocol/api/schedule.ts'
import type { Form, Payload } from '../protocol/form.ts'
import { budgetIn } from '../protocol/instance.ts'
import { isScheduleName, SCHEDULE_NAME_MAX_CHARS, SCHEDULE_NAME_RULE } from '../protocol/names.ts'
import { localTimezone, nextDue, requireDueTimes } from './due-times.ts'
import { changeSchedules, type KeptSchedule, readSchedules } from './schedule-file.ts'

/** The part of a platform that asks a resolver. */
export interface ResolverCheck {
  resolver(name: string): Promise<unknown>
  check(
    name: string,
    input: Payload,
  ): Promise<{ form: Form | null; errors: string[]; fields: { id: string; message: string }[] }>
}

/** Throws `schedules_broken`. */
export function listSchedules(home: string, now = new Date()): Schedule[] {
  return readSchedules(home).map((one) => toListed(one, now))
}

/**
 * Throws `schedule_invalid`, `schedule_taken`, `schedule_secret`, `resolver_unknown`, `form_invalid`, and `schedule_unchecked` for a resolver that
 * cannot be asked for its form now, for example because there is no Docker engine.
 */
export async function addSchedule(
  home: string,
  request: NewSchedule,
  createdBy: string,
  resolvers: ResolverCheck,
  now = new Date(),
): Promise<Schedule> {
  const { cron, resolver, input, name, catch_up = 'none', timezone = localTimezone() } = request
  // The command line of this machine comes here without passing the schema of the API.
  if (name !== undefined && !isScheduleName(name))
    throw fail('schedule_invalid', {
      problem: `"${name.slice(0, 80)}" can't name a schedule: ${SCHEDULE_NAME_RULE}.`,
    })
  requireDueTimes(cron, timezone, now)
  await resolvers.resolver(resolver)
  await checkInput(resolvers, resolver, input)
  return await changeSchedules(home, (schedules) => {
    if (schedules.length >= SCHEDULES_MAX) {
      throw fail('schedule_invalid', { problem: `There are ${SCHEDULES_MAX} schedules already; remove one first.` })
    }
    if (schedules.some((one) => one.name === name)) throw fail('schedule_taken', { name: name ?? '' })
    const kept: KeptSchedule = {
      ...{ id: randomBytes(6).toString('hex'), name: name ?? freeName(resolver, schedules) },
      ...{ cron, timezone, resolver, input, catch_up, paused: false },
      ...budgetIn(request),
      ...{ created_at: now.toISOString(), created_by: createdBy, next_at: null, last: null },
      ...{ started: 0, skipped: 0, missed: 0, failed: 0 },
      ...{ handled_until: now.toISOString(), last_instance_id: null, claim: null },
    }
    schedules.push(kept)
    return { result: toListed(kept, now) }
  })
}

/** Its instances go on. Throws `schedule_unknown`. */
export async function removeSchedule(home: string, reference: string, now = new Date()): Promise<Schedule> {
  return await changeSchedules(home, (schedules) => {
    const found = find(schedules, reference)
    schedules.splice(schedules.indexOf(found), 1)
    return { result: toListed(found, now) }
  })
}

/** Due times that pass while it is paused are not missed. Throws `schedule_unknown`. */
export async function pauseSchedule(
  home: string,
  reference: string,
  paused: boolean,
  now = new Date(),
): Promise<Schedule> {
  return await changeSchedules(home, (schedules) => {
    const found = find(schedules, reference)
    if (found.paused === paused) return { result: toListed(found, now), unchanged: true }
    found.paused = paused
    if (!paused) found.handled_until = now.toISOString()
    return { result: toListed(found, now) }
  })
}

function find(schedules: readonly KeptSchedule[], reference: string): KeptSchedule {
  // An id wins over a name, as with instances: an older version took names that look like ids.
  const found = schedules.find(({ id }) => id === reference) ?? schedules.find(({ name: own }) => own === reference)
  if (found !== undefined) return found
  const name = reference.slice(0, 80)
  const names = schedules.map((one) => one.name)
  throw fail('schedule_unknown', { name, ...nearestDetail(name, names) })
}

function toListed(
  { handled_until: _handled, busy_until: _busy, last_instance_id: _last, claim: _claim, ...listed }: KeptSchedule,
  now: Date,
): Schedule {
  const next = listed.paused ? null : nextDue(listed.cron, listed.timezone, now)
  return { ...listed, next_at: next?.toISOString() ?? null }
}

function freeName(resolver: string, schedules: readonly KeptSchedule[]): string {
  const names = new Set(schedules.map(({ name }) => name))
  for (let number = 1; ; number += 1) {
    const end = number === 1 ? '' : `-${number}`
    const name = `${resolver.slice(0, SCHEDULE_NAME_MAX_CHARS - end.length)}${end}`
    if (isScheduleName(name) && !names.has(name)) return name
  }
}

async function checkInput(resolvers: ResolverCheck, resolver: string, input: Payload): Promise<void> {
  let checked: Awaited<ReturnType<ResolverCheck['check']>>
  try {
    checked = await resolvers.check(resolver, input)
  } catch (error) {
    if (!(error instanceof ResolveError) || !UNASKABLE.includes(error.code)) throw error
    // Which fields are secret is not known, and the file of schedules is not sealed.
    throw fail('schedule_unchecked', { resolver, reason: error.message }, { cause: error })
  }
  const secret = checked.form?.components.find((one) => isSecret(one) && Object.hasOwn(input, one.id))
  if (secret !== undefined) throw fail('schedule_secret', { field: secret.id })
  const { errors, fields } = checked
  if (errors.length > 0) throw fail('form_invalid', { errors, fields })
}

/** The resolver exists and cannot be asked at the moment. */
const UNASKABLE: readonly string[] = [
  'docker_unreachable',
  'image_missing',
  'resolver_silent',
  'resolver_preparing',
  'too_many',
]

function isSecret(component: object): boolean {
  return 'secret' in component && component.secret === true
}
