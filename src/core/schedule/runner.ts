/**
 * Creates the instances of schedules that are due (R72). Every server of a home runs it; which of them acts is decided in
 * schedules.json, one process at a time. `serve` calls {@link runDue} every second.
 */
import { fail, ResolveError } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import { identify, isSameProcess, type ProcessIdentity } from '../files/process-identity.ts'
import { SCHEDULE_GRACE_MS } from '../limits.ts'
import type { ScheduleOutcome } from '../protocol/api/schedule.ts'
import type { Payload } from '../protocol/form.ts'
import type { ScheduleOrigin } from '../protocol/instance.ts'
import { isTerminal, type Status } from '../protocol/status.ts'
import { newInstanceId } from '../store/home.ts'
import { dueBetween } from './due-times.ts'
import { changeSchedules, type KeptSchedule, readSchedules } from './schedule-file.ts'

/** The part of a platform that the runner needs. */
export interface SchedulePlatform {
  create(request: {
    resolver: string
    input: Payload
    name: string
    instance_id: string
    schedule: ScheduleOrigin
  }): Promise<unknown>
  /** Undefined for an instance that does not exist. */
  statusOf(id: string): Promise<Status | undefined>
}

/** What is told once, by the server that decided it. */
export interface ScheduleNews extends ScheduleOutcome {
  schedule: string
  /** How many due times were missed; 1 for other outcomes. */
  count: number
}

/** Decides about every due time up to `now` once, in whichever process is first. Throws `schedules_broken` and errors of the home. */
export async function runDue(
  home: string,
  platform: SchedulePlatform,
  tell: (news: ScheduleNews) => void,
  now: () => Date = () => new Date(),
): Promise<void> {
  for (const { id } of readSchedules(home).filter((one) => isToDecide(one, now()))) {
    await finishClaim(home, id, platform, tell, now)
    const claimed = await claim(home, id, platform, tell, now)
    if (claimed) await finishClaim(home, id, platform, tell, now)
  }
}

function isToDecide(one: KeptSchedule, now: Date): boolean {
  if (one.claim !== null) return !isHeldElsewhere(one.claim.owner)
  return !one.paused && dueBetween(one.cron, one.timezone, new Date(one.handled_until), now).count > 0
}

/** Decides about all due times since the last decision; true where this process is now to create an instance. */
async function claim(
  home: string,
  id: string,
  platform: SchedulePlatform,
  tell: (news: ScheduleNews) => void,
  now: () => Date,
): Promise<boolean> {
  const before = readSchedules(home).find((one) => one.id === id)
  const former = before?.last_instance_id ?? null
  const formerStatus = former === null ? undefined : await platform.statusOf(former)
  const decided = await changeSchedules(home, (schedules) => {
    const one = schedules.find((candidate) => candidate.id === id)
    const at = now()
    const nothing = { result: undefined, unchanged: true }
    // Another process was faster: it holds the claim, or has started the next instance.
    if (one === undefined || one.paused || one.claim !== null || one.last_instance_id !== former) return nothing
    const { times, count } = dueBetween(one.cron, one.timezone, new Date(one.handled_until), at)
    const due = times.at(-1)
    if (due === undefined) return nothing
    const news: ScheduleNews[] = []
    const settle = (outcome: ScheduleOutcome['outcome'], when: Date, detail: string, many = 1) => {
      news.push(
        note(one, { due_at: when.toISOString(), outcome, instance_id: null, detail, at: at.toISOString() }, many),
      )
    }
    const isLate = at.getTime() - due.getTime() > SCHEDULE_GRACE_MS
    const isMissed = isLate && one.catch_up === 'none'
    const missed = isMissed ? count : count - 1
    if (missed > 0) settle('missed', (isMissed ? due : times.at(-2)) ?? due, 'No server ran at that time.', missed)
    if (isMissed) return { result: { news, isClaimed: false } }
    if (formerStatus !== undefined && !isTerminal(formerStatus)) {
      settle('skipped', due, `The instance before, ${former}, has not ended (${formerStatus}).`)
      return { result: { news, isClaimed: false } }
    }
    one.claim = { due_at: due.toISOString(), instance_id: newInstanceId(), owner: self() }
    return { result: { news, isClaimed: true } }
  })
  for (const one of decided?.news ?? []) tell(one)
  if (decided?.isClaimed !== true) return false
  failpoint('schedule.claimed')
  return true
}

/** Creates the claimed instance: the same one at every try, in this process or after its death in another. */
async function finishClaim(
  home: string,
  id: string,
  platform: SchedulePlatform,
  tell: (news: ScheduleNews) => void,
  now: () => Date,
): Promise<void> {
  const held = await changeSchedules(home, (schedules) => {
    const one = schedules.find((candidate) => candidate.id === id)
    if (one === undefined || one.claim === null || isHeldElsewhere(one.claim.owner)) {
      return { result: undefined, unchanged: true }
    }
    const isMine = one.claim.owner.pid === process.pid
    one.claim.owner = self()
    return { result: structuredClone(one), unchanged: isMine }
  })
  if (held?.claim == null) return
  const { due_at, instance_id } = held.claim
  const outcome = await create(held, held.claim, platform, now())
  failpoint('schedule.created')
  const news = await changeSchedules(home, (schedules) => {
    const one = schedules.find((candidate) => candidate.id === id)
    if (one?.claim?.instance_id !== instance_id) return { result: undefined, unchanged: true }
    one.claim = null
    if (outcome.instance_id !== null) one.last_instance_id = outcome.instance_id
    return { result: note(one, { ...outcome, due_at, at: now().toISOString() }, 1) }
  })
  failpoint('schedule.recorded')
  if (news !== undefined) tell(news)
}

type Created = Pick<ScheduleOutcome, 'outcome' | 'instance_id' | 'detail'>

async function create(
  one: KeptSchedule,
  { due_at, instance_id }: NonNullable<KeptSchedule['claim']>,
  platform: SchedulePlatform,
  now: Date,
): Promise<Created> {
  const started: Created = { outcome: 'started', instance_id, detail: null }
  try {
    if ((await platform.statusOf(instance_id)) !== undefined) return started
    // The claim of a server that was killed, found much later: it is as late as any other.
    if (now.getTime() - Date.parse(due_at) > SCHEDULE_GRACE_MS && one.catch_up === 'none') {
      return { outcome: 'missed', instance_id: null, detail: 'The server ended before it could create the instance.' }
    }
    const { id, name, resolver, input } = one
    await platform.create({ resolver, input, name, instance_id, schedule: { id, name, due_at } })
    return started
  } catch (error) {
    if (!(error instanceof ResolveError)) throw error
    if (error.code === 'disk_full' || error.code === 'shutting_down') throw error
    return { outcome: 'failed', instance_id: null, detail: error.message }
  }
}

/** Keeps an outcome in the schedule; what came before it is decided with it. */
function note(one: KeptSchedule, outcome: ScheduleOutcome, count: number): ScheduleNews {
  one.last = outcome
  one[outcome.outcome] += count
  if (outcome.due_at > one.handled_until) one.handled_until = outcome.due_at
  return { ...outcome, schedule: one.name, count }
}

/** A claim of a dead process is taken over. */
function isHeldElsewhere(owner: ProcessIdentity): boolean {
  return owner.pid !== process.pid && isSameProcess(owner)
}

function self(): ProcessIdentity {
  const identity = identify(process.pid)
  if (identity === undefined) throw fail('bug', { what: 'this process has no identity' })
  return identity
}
