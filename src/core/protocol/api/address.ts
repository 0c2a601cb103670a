/** Builds the address of a request below /api, for clients of the table, in Node and in a browser. */
import type { QueryValues } from './operation.ts'
import { OPERATIONS, type OperationName } from './operations.ts'

/**
 * The path with its parts encoded, and the query; a list becomes one parameter for each value. undefined where a part cannot
 * be addressed: an empty, `.` or `..` segment has no encoding, and URL parsers resolve it into the address of something else
 * (threats WEB-7, UI-3).
 */
export function addressOf(
  name: OperationName,
  params: Readonly<Record<string, string>>,
  query: QueryValues = {},
): string | undefined {
  let isRefused = false
  const path = OPERATIONS[name].path.replace(/\{(\+?)(\w+)\}/g, (_, rest: string, part: string) => {
    const value = params[part] ?? ''
    const segments = rest === '' ? [value] : value.split('/')
    if (!segments.every(isAddressable)) {
      isRefused = true
      return ''
    }
    return segments.map(encodeURIComponent).join('/')
  })
  if (isRefused) return undefined
  const search = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) {
    for (const one of value === undefined ? [] : [value].flat()) search.append(key, String(one))
  }
  return search.size === 0 ? path : `${path}?${search}`
}

/** Half a surrogate pair has no encoding either. */
function isAddressable(segment: string): boolean {
  return segment !== '' && segment !== '.' && segment !== '..' && segment.isWellFormed()
}
