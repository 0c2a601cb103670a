/** Schedules: list, add, remove, pause, resume (R72). */
import type { Handlers } from '../request/operations.ts'
import { type AppParts, actorOf, callerOf } from '../request/parts.ts'

export function scheduleHandlers({ platform }: AppParts) {
  return {
    getSchedules: async ({ request }) => {
      const schedules = await platform.schedules()
      // An input may hold what only its author should read, and a token that reads can't be trusted with it.
      if (callerOf(request).scope === 'admin') return schedules
      return schedules.map((one) => ({ ...one, input: {}, input_hidden: true }))
    },

    postSchedules: async ({ body, request }) => platform.addSchedule(body, actorOf(request)),

    deleteSchedule: async ({ params }) => platform.removeSchedule(params.name),

    postSchedulePause: async ({ params }) => platform.pauseSchedule(params.name, true),

    postScheduleResume: async ({ params }) => platform.pauseSchedule(params.name, false),
  } satisfies Partial<Handlers>
}
