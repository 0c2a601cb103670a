/** Where an instance of a schedule came from (R72). */
import { object, type Static, text, time } from './schema.ts'

export type ScheduleOrigin = Static<typeof scheduleOrigin>

export const scheduleOrigin = object({ id: text(), name: text(), due_at: time() })
