/** Measures the lifetime of an instance: how long its worker may be up (R27); warns at 80 %. */
import { INSTANCE_LIFETIME_MS, LIFETIME_WARNING_FRACTION } from '../../limits.ts'
import { hasWorker } from '../../protocol/status.ts'
import type { Story } from '../../view/story.ts'

/** RESOLVE_INSTANCE_LIFETIME as milliseconds: a number of seconds, or 500ms, 30s, 10m, 12h, 2d. */
export function lifetimeMs(env: NodeJS.ProcessEnv = process.env): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(env['RESOLVE_INSTANCE_LIFETIME'] ?? '')
  if (match === null) return INSTANCE_LIFETIME_MS
  return Number(match[1]) * UNIT_MS[(match[2] ?? 's') as keyof typeof UNIT_MS]
}

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** How long the instance's workers were up so far, by the journal. A clock that jumped back counts as zero. */
export function upMs(story: Story, nowMs: number): number {
  let total = 0
  for (const [index, change] of story.history.entries()) {
    if (!hasWorker(change.status)) continue
    const next = story.history[index + 1]
    const until = next === undefined ? nowMs : Date.parse(next.at)
    total += Math.max(0, until - Date.parse(change.at))
  }
  return Math.max(0, total - (story.queuedMs ?? 0))
}

/** Calls back at 80 % and at 100 % of the lifetime. Returns the function that stops it. */
export function startLifetime(
  limitMs: number,
  usedMs: number,
  onWarning: (usedMs: number) => void,
  onEnd: () => void,
): () => void {
  const warnAt = limitMs * LIFETIME_WARNING_FRACTION
  const timers = [after(warnAt - usedMs, () => onWarning(warnAt)), after(limitMs - usedMs, onEnd)]
  // A host that adopts after the 80 % mark does not repeat the warning.
  if (usedMs > warnAt) clearTimeout(timers[0])
  return () => {
    for (const timer of timers) clearTimeout(timer)
  }
}

const TIMER_MAX_MS = 2 ** 31 - 1

function after(ms: number, call: () => void): NodeJS.Timeout {
  return setTimeout(call, Math.min(TIMER_MAX_MS, Math.max(0, ms))).unref()
}
