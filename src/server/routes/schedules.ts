/** Schedules: list, add, remove, pause, resume (R72). */
import type { Handlers } from '../request/operations.ts'
import { type AppParts, actorOf, callerOf } from '../request/parts.ts'

export function scheduleHandlers({ platform }: AppParts) {
  return {
    getSchedules: async ({ request }) => {
      const schedules = await platform.schedules.list()
      // An input may hold what only its author should read, and a token that reads can't be trusted with it.
      if (callerOf(request).scope === 'admin') return schedules
      return schedules.map((one) => ({ ...one, input: {}, input_hidden: true }))
    },

    postSchedules: async ({ body, request }) => platform.schedules.add(body, actorOf(request)),

    deleteSchedule: async ({ params }) => platform.schedules.remove(params.name),

    postSchedulePause: async ({ params }) => platform.schedules.pause(params.name, true),

    postScheduleResume: async ({ params }) => platform.schedules.pause(params.name, false),
  } satisfies Partial<Handlers>
}
