/**
 * Reads submitted values: the path of a binding and the casts of the built-in functions (spec, A2UI; R31–R34). slots.ts and
 * compile-condition.ts call it.
 */
import { PATTERN_VALUE_MAX_CHARS } from '../limits.ts'

const ARRAY_INDEX = /^(?:0|[1-9]\d*)$/
/** The parts cannot match the same text in two ways, so the match takes linear time; a test checks that. */
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/
/** A function, because its classes of Unicode take a millisecond of every program that loads this file. */
const emailPattern = () => /^[\p{L}\p{N}_.+-]+@[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)*\.[\p{L}\p{N}_]+$/u

/** The keys of a path: one leading `/` is removed, the rest is split on `/` (spec, Data binding). */
export function pathKeys(path: string): string[] {
  return (path.startsWith('/') ? path.slice(1) : path).split('/')
}

/** The value at a path; null where it is missing. Follows only own properties of plain objects and array indexes (R32). */
export function resolvePath(payload: unknown, path: string): unknown {
  return resolveKeys(payload, pathKeys(path))
}

export function resolveKeys(payload: unknown, keys: readonly string[]): unknown {
  let value = payload
  for (const key of keys) {
    value = ownValue(value, key)
    if (value === null) return null
  }
  return value
}

/** null where `key` is neither an own property of a plain object nor an index of an array (R32). */
export function ownValue(holder: unknown, key: string): unknown {
  if (isPlain(holder)) return plainValue(holder, key)
  return Array.isArray(holder) && ARRAY_INDEX.test(key) ? (holder[Number(key)] ?? null) : null
}

/** Whether the value is an object as in JSON; an array is not. */
export function isPlain(holder: unknown): holder is Record<string, unknown> {
  if (typeof holder !== 'object' || holder === null) return false
  const prototype = Object.getPrototypeOf(holder)
  return (prototype === Object.prototype || prototype === null) && !Array.isArray(holder)
}

/** Like {@link ownValue}, for callers that know that the holder is plain. */
export function plainValue(holder: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(holder, key) ? (holder[key] ?? null) : null
}

/** The cast to bool (R33): "", 0, [], {}, null and false are false, everything else is true. */
export function toBool(value: unknown): boolean {
  if (typeof value !== 'object') return value !== '' && value !== 0 && value !== false && value !== undefined
  if (value === null) return false
  return Array.isArray(value) ? value.length > 0 : Object.keys(value).length > 0
}

/** The number of code points of a text or of items of an array; undefined for other values (R33). */
export function lengthOf(value: unknown): number | undefined {
  if (Array.isArray(value)) return value.length
  return typeof value === 'string' ? countCodePoints(value) : undefined
}

/** A finite number, or a text that is a decimal number after trimming; else undefined (R33). A boolean is not a number. */
export function toNumber(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  if (typeof value !== 'string') return undefined
  const text = value.trim()
  if (!NUMBER.test(text)) return undefined
  const number = Number(text)
  return Number.isFinite(number) ? number : undefined
}

/** The text in which a pattern is searched: the text itself or a number's spelling; undefined for other values (R31). */
export function toText(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  return typeof value === 'number' ? String(value) : undefined
}

/** local part @ domain . suffix (spec, Built-in functions; R34). */
export function isEmail(value: unknown): boolean {
  return typeof value === 'string' && value.length <= PATTERN_VALUE_MAX_CHARS && emailPattern().test(value)
}

function countCodePoints(text: string): number {
  let count = text.length
  for (let at = 1; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    if (unit < 0xdc00 || unit > 0xdfff) continue
    const before = text.charCodeAt(at - 1)
    if (before >= 0xd800 && before <= 0xdbff) count -= 1
  }
  return count
}
