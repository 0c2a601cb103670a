/**
 * What the SDK tells about LLM sessions, as events of the platform (R56): {@link file://./monitor.ts} journals each turn of a session once,
 * although a worker that was killed tells it again.
 */
import { SESSION_NUMBER_MAX } from '../../limits.ts'
import { type EventEnvelope, SESSION_COMPLETED, SESSION_DISPATCHED } from '../../protocol/event.ts'
import {
  type SessionCompleted,
  type SessionDispatched,
  sessionCompleted,
  sessionDispatched,
} from '../../protocol/session/session.ts'
import type { ToldTurns } from '../../protocol/session/told-turns.ts'
import { fits } from '../../schema/fits.ts'

export type SessionNews =
  | { type: 'platform.resolver.session_dispatched'; data: SessionDispatched }
  | { type: 'platform.resolver.session_completed'; data: SessionCompleted }

const DETAIL_MAX_CHARS = 4_000

export function isSessionEvent({ event_type: type }: EventEnvelope): boolean {
  return type === SESSION_DISPATCHED || type === SESSION_COMPLETED
}

/** undefined where the journal has it already; `malformed` where the data does not fit, or there are too many sessions. */
export function readSessionEvent(
  { event_type, data }: EventEnvelope,
  turns: ToldTurns,
): SessionNews | 'malformed' | undefined {
  if (event_type === SESSION_DISPATCHED) {
    if (!fits(sessionDispatched, data) || !areBelieved([data.turn]) || turns.isFull(data.session_id)) return 'malformed'
    return turns.isNewDispatch(data) ? { type: 'platform.resolver.session_dispatched', data: aboutOf(data) } : undefined
  }
  if (!fits(sessionCompleted, data)) return 'malformed'
  const numbers = [data.turn, data.duration_seconds, data.steps, data.cost_usd ?? 0, ...Object.values(data.usage)]
  if (!areBelieved(numbers)) return 'malformed'
  if (!turns.isNewCompletion(data)) return undefined
  const { success, duration_seconds, steps, usage, cost_usd, error } = turns.sinceCounted(data)
  const told =
    error === undefined
      ? {}
      : { error: { code: error.code.slice(0, 100), detail: error.detail.slice(0, DETAIL_MAX_CHARS) } }
  const { input_tokens, cache_read_tokens, cache_write_tokens, output_tokens } = usage
  const counts = { input_tokens, cache_read_tokens, cache_write_tokens, output_tokens }
  return {
    type: 'platform.resolver.session_completed',
    data: { ...aboutOf(data), success, duration_seconds, steps, usage: counts, cost_usd, ...told },
  }
}

/** Sums of larger numbers would be no numbers any more. */
function areBelieved(numbers: readonly unknown[]): boolean {
  return numbers.every((one) => typeof one !== 'number' || one <= SESSION_NUMBER_MAX)
}

/** Only what the event has: a resolver may write anything beside it. */
function aboutOf({ session_id, session_name, turn, model, kind, parent_id }: SessionDispatched): SessionDispatched {
  return { session_id, session_name, turn, model, kind, ...(parent_id === undefined ? {} : { parent_id }) }
}
