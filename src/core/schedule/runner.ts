/**
 * Creates the instances of schedules that are due (R72). Every server of a home runs it; which of them acts is decided in
 * schedules.json, one process at a time. `serve` calls {@link ScheduleRunner.look} every second.
 */
import { fail, ResolveError } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import { identify, isSameProcess, type ProcessIdentity } from '../files/process-identity.ts'
import { SCHEDULE_GRACE_MS } from '../limits.ts'
import type { ScheduleOutcome } from '../protocol/api/schedule.ts'
import type { Payload } from '../protocol/form.ts'
import { budgetIn, type InstanceRecord, type ScheduleOrigin } from '../protocol/instance.ts'
import { nameTakenOver } from '../protocol/names.ts'
import { isTerminal } from '../protocol/status.ts'
import { newInstanceId } from '../store/home.ts'
import { CreationPlaces } from './creation-places.ts'
import { dueBetween } from './due-times.ts'
import { KnownSchedules } from './known-schedules.ts'
import { changeSchedules, type KeptSchedule } from './schedule-file.ts'

/** The part of a platform that the runner needs. */
export interface SchedulePlatform {
  create(request: {
    resolver: string
    input: Payload
    name: string | null
    instance_id: string
    schedule: ScheduleOrigin
    budget_usd?: number
    budget_tokens?: number
  }): Promise<unknown>
  /** Undefined for an instance that does not exist. */
  recordOf(id: string): Promise<InstanceSeen | undefined>
}

/** What the runner reads of an instance. */
export type InstanceSeen = Pick<InstanceRecord, 'status' | 'error' | 'secret_fields'>

/** What is told once, by the server that decided it. */
export interface ScheduleNews extends ScheduleOutcome {
  schedule: string
  /** How many due times were missed; 1 for other outcomes. */
  count: number
}

/** Decides about every due time up to `now` once, in whichever process is first, and waits for the instances. Throws as {@link ScheduleRunner.look}. */
export async function runDue(
  home: string,
  platform: SchedulePlatform,
  tell: (news: ScheduleNews) => void,
  now: () => Date = () => new Date(),
): Promise<void> {
  const runner = new ScheduleRunner({ home, platform, tell, now })
  // The second look is for what became due before the claim of a dead process was finished.
  for (let looks = 0; looks < 2; looks += 1) {
    await runner.look()
    await runner.settled()
  }
}

export interface RunnerParts {
  home: string
  platform: SchedulePlatform
  tell: (news: ScheduleNews) => void
  now?: () => Date
}

interface Decided {
  news: ScheduleNews[]
  /** Undefined where no instance is to be created. */
  claim: Claim | undefined
}

type Claim = NonNullable<KeptSchedule['claim']>

export class ScheduleRunner {
  readonly #home: string
  readonly #platform: SchedulePlatform
  readonly #tell: (news: ScheduleNews) => void
  readonly #now: () => Date
  readonly #known: KnownSchedules
  readonly #places = new CreationPlaces()
  /** By schedule: what waits for a place, or is being created. */
  readonly #creations = new Map<string, Promise<void>>()
  /** The instances that this process decided to create; the other claims are of a process that died. */
  readonly #own = new Set<string>()
  /** By schedule: why its instance can't be created yet, such as a full disk. The next look tries again. */
  readonly #troubles = new Map<string, unknown>()
  /** By schedule: the last instance, once its input was accepted or refused. */
  readonly #judged = new Map<string, string>()
  #isClosed = false

  constructor({ home, platform, tell, now = () => new Date() }: RunnerParts) {
    this.#home = home
    this.#known = new KnownSchedules(home)
    this.#platform = platform
    this.#tell = tell
    this.#now = now
  }

  /**
   * Decides about every due time up to now, and begins to create instances; it does not wait for them. A failure of one schedule does
   * not keep the others. Throws `schedules_broken` and errors of the home, when all have been looked at.
   */
  async look(): Promise<void> {
    const schedules = this.#known.read()
    for (const known of [this.#troubles, this.#judged])
      for (const id of known.keys()) if (!schedules.some((one) => one.id === id)) known.delete(id)
    const troubles = new Map<string, unknown>(this.#troubles)
    for (const one of schedules) {
      const { id } = one
      if (this.#creations.has(id)) continue
      try {
        await this.#takeRefusal(one)
        if (!this.#isToDecide(one)) continue
        await this.#claim(id)
        await this.#begin(id)
        if (!this.#creations.has(id)) troubles.delete(id)
      } catch (error) {
        troubles.set(id, error)
      }
    }
    for (const trouble of troubles.values()) throw trouble
  }

  /** Waits until no instance is being created. */
  async settled(): Promise<void> {
    while (this.#creations.size > 0) await Promise.all(this.#creations.values())
  }

  /** What waits for a place is left to the next server; what is being created is waited for. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.settled()
  }

  #isToDecide(one: KeptSchedule): boolean {
    if (one.claim !== null) return !isHeldElsewhere(one.claim.owner)
    return !one.paused && this.#known.isDue(one, this.#now())
  }

  /** Decides about all due times since the last decision. Where an instance is to be created, the file says so when this returns. */
  async #claim(id: string): Promise<void> {
    const before = this.#known.read().find((one) => one.id === id)
    if (before === undefined || before.claim !== null) return
    const former = before.last_instance_id
    const seen = former === null ? undefined : await this.#recordOf(former)
    const formerNow = seen instanceof ResolveError ? seen : seen?.status
    const decided = await changeSchedules<Decided | undefined>(this.#home, (schedules) => {
      const one = schedules.find((candidate) => candidate.id === id)
      const at = this.#now()
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
      const busyUntil = Date.parse(one.busy_until ?? '') || 0
      const isLate = at.getTime() - Math.max(due.getTime(), busyUntil) > SCHEDULE_GRACE_MS
      const isMissed = isLate && one.catch_up === 'none'
      const missed = isMissed ? count : count - 1
      const lastMissed = (isMissed ? due : times.at(-2)) ?? due
      const why = lastMissed.getTime() <= busyUntil ? 'The instance before was still being created.' : NO_SERVER
      if (missed > 0) settle('missed', lastMissed, why, missed)
      if (isMissed) return { result: { news, claim: undefined } }
      if (formerNow instanceof ResolveError) {
        settle('failed', due, `It is not known whether the instance before, ${former}, has ended: ${formerNow.message}`)
        return { result: { news, claim: undefined } }
      }
      if (formerNow !== undefined && !isTerminal(formerNow)) {
        settle('skipped', due, `The instance before, ${former}, has not ended (${formerNow}).`)
        return { result: { news, claim: undefined } }
      }
      one.claim = { due_at: due.toISOString(), instance_id: newInstanceId(), owner: self() }
      return { result: { news, claim: one.claim } }
    })
    for (const one of decided?.news ?? []) this.#tell(one)
    if (decided?.claim === undefined) return
    this.#own.add(decided.claim.instance_id)
    failpoint('schedule.claimed')
  }

  /** A resolver that was not prepared is asked after its setup (R48): then the host of the instance refuses the values of secret fields. */
  async #takeRefusal({ id, last_instance_id: instance }: KeptSchedule): Promise<void> {
    if (instance === null || this.#judged.get(id) === instance) return
    const seen = await this.#recordOf(instance)
    if (seen instanceof ResolveError) return
    const isOpen = seen !== undefined && (seen.status === 'created' || seen.status === 'starting')
    if (isOpen) return
    if (seen?.error?.code === SECRET) {
      const news = await changeSchedules(this.#home, (schedules) => {
        const one = schedules.find((candidate) => candidate.id === id)
        const secrets = (seen.secret_fields ?? []).filter((field) => Object.hasOwn(one?.input ?? {}, field))
        if (one?.last_instance_id !== instance || secrets.length === 0) return { result: undefined, unchanged: true }
        const { detail } = becameSecret({ details: { secret_fields: secrets } })
        const at = this.#now().toISOString()
        removeSecrets(one, secrets)
        const outcome = {
          outcome: 'failed',
          instance_id: instance,
          detail,
          due_at: one.last?.due_at ?? at,
          at,
        } as const
        return { result: note(one, outcome, 1) }
      })
      if (news !== undefined) this.#tell(news)
    }
    this.#judged.set(id, instance)
  }

  /** A damaged instance stops its own schedule and no other: the error is a value here. */
  async #recordOf(id: string): Promise<InstanceSeen | undefined | ResolveError> {
    try {
      return await this.#platform.recordOf(id)
    } catch (error) {
      if (error instanceof ResolveError) return error
      throw error
    }
  }

  /** Creates the claimed instance in the background: the same one at every try, in this process or after its death in another. */
  async #begin(id: string): Promise<void> {
    const held = await changeSchedules(this.#home, (schedules) => {
      const one = schedules.find((candidate) => candidate.id === id)
      if (one === undefined || one.claim === null || isHeldElsewhere(one.claim.owner)) {
        return { result: undefined, unchanged: true }
      }
      const unchanged = this.#own.has(one.claim.instance_id)
      one.claim.owner = self()
      return { result: structuredClone(one), unchanged }
    })
    if (held?.claim == null) return
    const { claim } = held
    const creation = this.#places.run(held.resolver, async () => {
      if (this.#isClosed) return
      try {
        await this.#finish(held, claim)
        this.#troubles.delete(id)
      } catch (error) {
        this.#troubles.set(id, error)
      }
    })
    this.#creations.set(
      id,
      creation.finally(() => this.#creations.delete(id)),
    )
  }

  async #finish(held: KeptSchedule, claim: Claim): Promise<void> {
    const { id } = held
    const { secrets = [], ...outcome } = await this.#create(held, claim)
    failpoint('schedule.created')
    const isOwn = this.#own.delete(claim.instance_id)
    const news = await changeSchedules(this.#home, (schedules) => {
      const one = schedules.find((candidate) => candidate.id === id)
      if (one?.claim?.instance_id !== claim.instance_id) return { result: undefined, unchanged: true }
      const at = this.#now().toISOString()
      one.claim = null
      if (isOwn) one.busy_until = at
      if (outcome.instance_id !== null) one.last_instance_id = outcome.instance_id
      if (secrets.length > 0) removeSecrets(one, secrets)
      return { result: note(one, { ...outcome, due_at: claim.due_at, at }, 1) }
    })
    failpoint('schedule.recorded')
    if (news !== undefined) this.#tell(news)
  }

  async #create(one: KeptSchedule, { due_at, instance_id }: Claim): Promise<Created> {
    const started: Created = { outcome: 'started', instance_id, detail: null }
    try {
      if ((await this.#platform.recordOf(instance_id)) !== undefined) return started
      const tooLate = this.#whyTooLate(one, instance_id)
      const isLate = this.#now().getTime() - Date.parse(due_at) > SCHEDULE_GRACE_MS
      if (isLate && tooLate !== undefined && one.catch_up === 'none') {
        return { outcome: 'missed', instance_id: null, detail: tooLate }
      }
      const { id, name, resolver, input } = one
      await this.#platform.create({
        ...{ resolver, input, instance_id },
        ...budgetIn(one),
        name: nameTakenOver(name),
        schedule: { id, name, due_at },
      })
      return started
    } catch (error) {
      if (!(error instanceof ResolveError)) return { outcome: 'failed', instance_id: null, detail: String(error) }
      if (error.code === 'disk_full' || error.code === 'shutting_down') throw error
      if (error.code === SECRET) return becameSecret(error)
      return { outcome: 'failed', instance_id: null, detail: error.message }
    }
  }

  /** Undefined for an instance that only waited for its place in this process: it was due in time. */
  #whyTooLate({ id }: KeptSchedule, instance: string): string | undefined {
    if (!this.#own.has(instance)) return 'The server ended before it could create the instance.'
    const trouble = this.#troubles.get(id)
    return trouble instanceof Error ? `The instance could not be created in time: ${trouble.message}` : undefined
  }
}

const SECRET = 'schedule_secret'
const NO_SERVER = 'No server ran at that time.'

interface Created extends Pick<ScheduleOutcome, 'outcome' | 'instance_id' | 'detail'> {
  /** Fields of the input that are secret by now. */
  secrets?: readonly string[]
}

/** The fields became secret in a later version of the resolver, and their values are in the file of schedules in clear. */
function becameSecret({ details }: Pick<ResolveError, 'details'>): Created {
  const secrets = (details['secret_fields'] ?? [details['field']]) as readonly string[]
  const fields = secrets.map((field) => `"${field}"`).join(', ')
  const what =
    secrets.length === 1 ? 'is a secret field now: its value was' : 'are secret fields now: their values were'
  return {
    outcome: 'failed',
    instance_id: null,
    secrets,
    detail: `${fields} ${what} removed here and the schedule paused.`,
  }
}

/** What the file does not have cannot leak; without the values the input is another one, so a person decides how it goes on. */
function removeSecrets(one: KeptSchedule, secrets: readonly string[]): void {
  one.input = Object.fromEntries(Object.entries(one.input).filter(([field]) => !secrets.includes(field)))
  one.paused = true
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
