/** Schedules: list, add, remove, pause, resume (R72). */
import type { Handlers } from '../request/operations.ts'
import { type AppParts, actorOf } from '../request/parts.ts'

export function scheduleHandlers({ platform }: AppParts) {
  return {
    getSchedules: async () => platform.schedules(),

    postSchedules: async ({ body, request }) => platform.addSchedule(body, actorOf(request)),

    deleteSchedule: async ({ params }) => platform.removeSchedule(params.name),

    postSchedulePause: async ({ params }) => platform.pauseSchedule(params.name, true),

    postScheduleResume: async ({ params }) => platform.pauseSchedule(params.name, false),
  } satisfies Partial<Handlers>
}
