/** Formats durations and ages for the terminal and the page. Pure: the current time is a parameter. */

/** `0.4 s`, `12 s`, `3 min 5 s`, `2 h 10 min`. */
export function durationText(ms: number): string {
  const seconds = Math.max(0, ms) / 1_000
  if (seconds < 10) return `${(Math.floor(seconds * 10) / 10).toFixed(1)} s`
  if (seconds < 60) return `${Math.floor(seconds)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** The age in its largest unit: `now`, `12s`, `3m`, `5h`, `2d`. */
export function ageText(then: string, now: number): string {
  const ms = now - Date.parse(then)
  if (!Number.isFinite(ms)) return '-'
  if (ms < 1_000) return 'now'
  for (const [unit, size] of [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['m', 60_000],
  ] as const) {
    if (ms >= size) return `${Math.floor(ms / size)}${unit}`
  }
  return `${Math.floor(ms / 1_000)}s`
}

/** The time in the zone of this machine: `12:17:51`, or with milliseconds `12:17:51.058`. */
export function clockText(time: string | number, withMs = false): string {
  const at = new Date(time)
  if (Number.isNaN(at.getTime())) return '-'
  const clock = [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':')
  return withMs ? `${clock}.${String(at.getMilliseconds()).padStart(3, '0')}` : clock
}

/** Day and time in the zone of this machine: `2026-11-22 12:17:51`. */
export function localText(time: string): string {
  const at = new Date(time)
  if (Number.isNaN(at.getTime())) return '-'
  const day = [at.getFullYear(), at.getMonth() + 1, at.getDate()].map((part) => String(part).padStart(2, '0')).join('-')
  return `${day} ${clockText(time)}`
}

/** The age for a sentence: `just now`, `3m ago`. */
export function agoText(then: string, now: number): string {
  const age = ageText(then, now)
  return age === 'now' ? 'just now' : `${age} ago`
}
