/**
 * Whether and when an instance whose worker was lost is resumed without a person (R58): the supervisor of `serve`, `instance resume
 * --lost` and `doctor` decide by it. Pure.
 */
import { LOST_RESUME_MAX, LOST_RESUME_MAX_MS, LOST_RESUME_MIN_MS } from '../limits.ts'
import { backoffMs } from '../primitives/backoff.ts'
import { RESUMED_LOST, WORKER_LOST } from '../protocol/methods.ts'
import type { Status } from '../protocol/status.ts'
import type { Story } from './story.ts'

/** Whether it is paused because its worker was lost. */
export function isLost({ status, reason }: { status: Status; reason?: string | null | undefined }): boolean {
  return status === 'paused' && reason === WORKER_LOST
}

export interface LostWorker {
  /** How often it was resumed by itself since a person resumed it, or since its creation. */
  resumes: number
  /** No more resumes without a person. */
  isExhausted: boolean
  /** Milliseconds since 1970. Not before this time, so that a worker that is lost again and again costs little. */
  dueAt: number
}

/** Undefined where the instance has no lost worker. */
export function lostWorker({ history }: Pick<Story, 'history'>, now: number): LostWorker | undefined {
  const last = history.at(-1)
  if (last === undefined || !isLost(last)) return undefined
  const starts = history.filter(
    ({ status, reason }) => status === 'running' && reason !== null && STARTS.includes(reason),
  )
  const byPerson = starts.findLastIndex(({ reason }) => reason === RESUMED)
  const resumes = starts.length - 1 - byPerson
  // A clock that was set back must not delay it for long.
  const since = Math.min(Date.parse(last.at), now)
  const wait = resumes === 0 ? 0 : backoffMs(resumes - 1, LOST_RESUME_MIN_MS, LOST_RESUME_MAX_MS)
  return { resumes, isExhausted: resumes >= LOST_RESUME_MAX, dueAt: since + wait }
}

/** The reason of paused → running after a person's resume. */
const RESUMED = 'resumed'
const STARTS = [RESUMED, RESUMED_LOST]
