/**
 * Text without half characters. A cut, or a model, can leave one half of a character of UTF-16: as JSON it is `\ud83d` alone, which providers
 * and other programs refuse. Pure.
 */

/** A JSON value; half characters in its texts and keys become U+FFFD. */
export function wellFormed<T>(value: T): T {
  return repaired(value) as T
}

function repaired(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(repaired)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name.toWellFormed(), repaired(one)]))
}
