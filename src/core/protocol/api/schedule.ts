/** The shapes of schedules (R72): as they are added, stored and listed. */
import { SCHEDULE_CRON_MAX_CHARS } from '../../limits.ts'
import {
  closed,
  count,
  flag,
  named,
  nullable,
  object,
  oneOf,
  optional,
  type Static,
  text,
  time,
} from '../../schema/schema.ts'
import { payload } from '../form.ts'
import { instanceId } from '../instance.ts'
import { SCHEDULE_NAME_PATTERN, scheduleName } from '../names.ts'
import { budgetTokens, budgetUsd } from '../session/session.ts'

/** `none`: a due time that passed while no server ran is told and not run. `one`: the last of them is run late. */
export const CATCH_UPS = ['none', 'one'] as const

export const SCHEDULE_OUTCOMES = ['started', 'skipped', 'missed', 'failed'] as const

/** What became of a due time. */
export type ScheduleOutcome = Static<typeof scheduleOutcome>

export const scheduleOutcome = object({
  due_at: time(),
  outcome: oneOf(SCHEDULE_OUTCOMES),
  /** The instance that was started, or the former one that still ran. */
  instance_id: nullable(instanceId()),
  /** Why it was not started; null where it was. */
  detail: nullable(text()),
  at: time(),
})

export type NewSchedule = Static<typeof newSchedule>

export const newSchedule = closed({
  cron: text({
    minLength: 1,
    maxLength: SCHEDULE_CRON_MAX_CHARS,
    description: 'Five fields: minute, hour, day, month, weekday',
  }),
  resolver: text({ maxLength: 200 }),
  input: payload,
  name: optional(scheduleName()),
  timezone: optional(text({ maxLength: 64, description: "An IANA name such as Europe/Berlin; default: the server's" })),
  catch_up: optional(oneOf(CATCH_UPS)),
  budget_usd: optional(budgetUsd('What the LLM sessions of each instance may cost together')),
  budget_tokens: optional(budgetTokens('How many tokens the LLM sessions of each instance may use together')),
})

export type Schedule = Static<typeof schedule>

export const schedule = named(
  'Schedule',
  object({
    id: text({ pattern: '^[0-9a-f]{12}$' }),
    name: text({ pattern: SCHEDULE_NAME_PATTERN }),
    cron: text({ maxLength: SCHEDULE_CRON_MAX_CHARS }),
    timezone: text({ maxLength: 64 }),
    resolver: text(),
    input: payload,
    /** True for callers without the scope admin: `input` is then empty. */
    input_hidden: optional(flag()),
    catch_up: oneOf(CATCH_UPS),
    budget_usd: optional(budgetUsd('Of each instance; absent without one')),
    budget_tokens: optional(budgetTokens('Of each instance; absent without one')),
    paused: flag(),
    created_at: time(),
    created_by: text(),
    next_at: nullable(time(), { description: 'The next due time; null where it is paused or never due again' }),
    last: nullable(scheduleOutcome),
    started: count(),
    skipped: count(),
    missed: count(),
    failed: count(),
  }),
  'Creates instances of a resolver at due times',
)
