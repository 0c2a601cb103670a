/** How deep a JSON value nests: the host, the coordination files and the HTTP API refuse deeper values (R16). Pure. */

/** Whether arrays and objects nest no deeper than `depth`; for values of JSON. */
export function isWithinDepth(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (depth === 0) return false
  if (Array.isArray(value)) return value.every((inner) => isWithinDepth(inner, depth - 1))
  for (const key in value) {
    const inner: unknown = (value as Record<string, unknown>)[key]
    if (typeof inner === 'object' && !isWithinDepth(inner, depth - 1)) return false
  }
  return true
}
