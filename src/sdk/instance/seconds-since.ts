/** Durations in the events of the SDK. `performance` would load seven modules of Node. */

/** The time since a reading of `process.uptime()`, in seconds with three decimals. */
export function secondsSince(uptime: number): number {
  return Math.round((process.uptime() - uptime) * 1_000) / 1_000
}
