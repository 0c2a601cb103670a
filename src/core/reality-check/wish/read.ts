/** Reads fields of an untrusted object with their rules; every reader of the request uses it. Each throws a {@link WishFault}. Pure. */
import { isObject } from '../../primitives/is-object.ts'
import { type Fields, WishFault } from './fault.ts'

/** An unknown field is refused, not ignored: a misspelled expectation would pass unseen. */
export function readObject(value: unknown, where: string, known: readonly string[]): Fields {
  if (!isObject(value)) throw new WishFault(where, 'an object')
  const unknown = Object.keys(value).find((name) => !known.includes(name))
  if (unknown === undefined) return value
  throw new WishFault(`${where}.${unknown.slice(0, 64)}`, `one of ${known.join(', ')}`)
}

export function readText(value: unknown, where: string, maxChars = 64 * 1024): string {
  if (typeof value === 'string' && value.length <= maxChars && !value.includes('\0')) return value
  throw new WishFault(where, `a text of at most ${maxChars} characters`)
}

export function readOptionalText(value: unknown, where: string, maxChars?: number): string | null {
  return value === undefined || value === null ? null : readText(value, where, maxChars)
}

export function readNumber(value: unknown, where: string, { min, max }: { min: number; max: number }): number {
  if (typeof value === 'number' && value >= min && value <= max) return value
  throw new WishFault(where, `a number from ${min} to ${max}`)
}

export function readFlag(value: unknown, where: string): boolean {
  if (value === undefined || typeof value === 'boolean') return value ?? false
  throw new WishFault(where, 'true or false')
}

/** A text or a list of texts. */
export function readTexts(value: unknown, where: string): string[] {
  if (value === undefined || value === null) return []
  const list = Array.isArray(value) ? value : [value]
  if (list.length > LIST_MAX) throw new WishFault(where, `at most ${LIST_MAX} texts`)
  return list.map((text, at) => readFilled(text, Array.isArray(value) ? `${where}[${at}]` : where))
}

/** An empty text would be in everything. */
function readFilled(value: unknown, where: string): string {
  const text = readText(value, where)
  if (text === '') throw new WishFault(where, 'a text that is not empty')
  return text
}

export function readMap(value: unknown, where: string, name: RegExp): Record<string, string> {
  if (value === undefined || value === null) return {}
  if (!isObject(value)) throw new WishFault(where, 'an object of names and texts')
  const entries = Object.entries(value)
  if (entries.length > LIST_MAX) throw new WishFault(where, `at most ${LIST_MAX} names`)
  return Object.fromEntries(
    entries.map(([key, entry]) => {
      if (!name.test(key)) throw new WishFault(`${where}.${key.slice(0, 64)}`, 'a name that is allowed there')
      const isPlain = typeof entry === 'number' || typeof entry === 'boolean'
      return [key, isPlain ? String(entry) : readText(entry, `${where}.${key}`)]
    }),
  )
}

export function readList(value: unknown, where: string, max: number): unknown[] {
  if (Array.isArray(value) && value.length <= max) return value
  throw new WishFault(where, `a list of at most ${max}`)
}

export function readChoice<const C extends string>(value: unknown, where: string, choices: readonly C[]): C {
  if (choices.some((choice) => choice === value)) return value as C
  throw new WishFault(where, `one of ${choices.join(', ')}`)
}

const LIST_MAX = 100
