/** Parses a `Range` header: one part of a file, or the whole file (RFC 9110, 14.2). */
import { fail } from '../../core/errors.ts'
import type { ByteRange } from '../../core/index.ts'

/**
 * Undefined where the whole file is to be sent: no header, several ranges, or an unreadable one. Throws
 * `range_unsatisfiable`.
 */
export function rangeOf(header: string | undefined, bytes: number): ByteRange | undefined {
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.replaceAll(' ', '') ?? '') ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined
  const from = first === '' ? Math.max(0, bytes - Number(last)) : Number(first)
  const to = first === '' || last === '' ? bytes : Math.min(bytes, Number(last) + 1)
  if (from >= to) throw fail('range_unsatisfiable', { bytes })
  return { from, to }
}
