/** Says how far a stop is: what the worker was sent, and what it is sent next and when (R26, R57). For terminal and page. Pure. */
import { STOP_LIMIT_MS, TERM_LIMIT_MS } from '../limits.ts'
import type { StoryStop } from './story.ts'

/** "asked to stop; SIGTERM in 28 s, SIGKILL in 38 s". `now` in milliseconds since 1970. */
export function stopWords({ requested_at, force }: StoryStop, now: number): string {
  if (force) return 'SIGKILL was sent'
  const passed = Math.max(0, now - Date.parse(requested_at))
  const kill = `SIGKILL in ${seconds(STOP_LIMIT_MS + TERM_LIMIT_MS - passed)}`
  if (passed < STOP_LIMIT_MS) return `asked to stop; SIGTERM in ${seconds(STOP_LIMIT_MS - passed)}, ${kill}`
  return passed < STOP_LIMIT_MS + TERM_LIMIT_MS ? `SIGTERM was sent; ${kill}` : 'SIGKILL was sent'
}

function seconds(ms: number): string {
  return `${Math.ceil(ms / 1000)} s`
}
