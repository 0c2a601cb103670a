/** Parses durations of flags: `90s`, `1h30m`. */
import { fail } from '../../core/errors.ts'

/** The time that `--since` or `--until` means: a duration before `now`, or an ISO-8601 time. In UTC. Throws `usage`. */
export function parseTime(text: string, now: number): string {
  const trimmed = text.trim()
  // Not a number where it is out of the range that a date has.
  const ago = DURATION.test(trimmed) ? new Date(now - parseDuration(trimmed)).getTime() : Number.NaN
  const ms = /^\d{4}-/.test(text) ? Date.parse(text) : ago
  if (Number.isNaN(ms)) {
    const problem = `"${text}" is not a time; write 2026-01-31 or 2026-01-31T10:00:00Z, or how long ago: 30m, 2h or 7d.`
    throw fail('usage', { problem })
  }
  return new Date(ms).toISOString()
}

const DURATION = /^(?:\d+(?:\.\d+)?|(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+)$/

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Milliseconds from `30s`, `5m`, `1h30m`, `500ms`; a bare number is seconds. Throws `usage` for anything else. */
export function parseDuration(text: string): number {
  const trimmed = text.trim()
  if (/^\d+(\.\d+)?$/.test(trimmed)) return Math.round(Number(trimmed) * 1_000)
  if (!DURATION.test(trimmed)) {
    throw fail('usage', { problem: `"${text}" is not a duration; write 30s, 5m or 1h30m.` })
  }
  let total = 0
  for (const [, amount, unit] of trimmed.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) {
    total += Number(amount) * (UNIT_MS[unit ?? ''] ?? 0)
  }
  return Math.round(total)
}
