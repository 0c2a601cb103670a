/** Builds the address of a request below /api, for clients of the table, in Node and in a browser. */
import type { QueryValues } from './operation.ts'
import { OPERATIONS, type OperationName } from './operations.ts'

/** The path with its parts encoded, and the query; a list becomes one parameter for each value. */
export function addressOf(
  name: OperationName,
  params: Readonly<Record<string, string>>,
  query: QueryValues = {},
): string {
  const path = OPERATIONS[name].path.replace(/\{(\+?)(\w+)\}/g, (_, rest: string, part: string) => {
    const value = params[part] ?? ''
    return rest === '' ? encodeURIComponent(value) : value.split('/').map(encodeURIComponent).join('/')
  })
  const search = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) {
    for (const one of value === undefined ? [] : [value].flat()) search.append(key, String(one))
  }
  return search.size === 0 ? path : `${path}?${search}`
}
