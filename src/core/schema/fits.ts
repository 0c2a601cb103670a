/**
 * Validates an outside value against a {@link file://./schema.ts | schema}: the answers of a server, for the remote platform
 * and the page. It interprets the keywords that the builders write and compiles nothing: the page's policy forbids compiling,
 * and for a single call a compiler would take longer than the call. A test checks that it decides as ajv does.
 */
import type { Schema } from './schema.ts'

type Keywords = Readonly<Record<string, unknown>>

export function fits<T>(schema: Schema<T>, value: unknown): value is T {
  return misfit(schema, value) === undefined
}

/**
 * The path of the first value that does not fit, in our own field names and indexes: `/0/instance_id`; undefined where the
 * value fits.
 */
export function misfit(schema: Schema, value: unknown, at = ''): string | undefined {
  const rules: Keywords = schema
  const choices = rules['anyOf'] as readonly Schema[] | undefined
  if (choices !== undefined && !choices.some((choice) => fits(choice, value))) return at || '/'
  const type = rules['type'] as string | readonly string[] | undefined
  if (type !== undefined && ![type].flat().includes(typeOf(value, [type].flat()))) return at || '/'
  if ('const' in rules && value !== rules['const']) return at || '/'
  const values = rules['enum'] as readonly unknown[] | undefined
  if (values !== undefined && !values.includes(value)) return at || '/'
  if (typeof value === 'string') return isText(rules, value) ? undefined : at || '/'
  if (typeof value === 'number') return isNumber(rules, value) ? undefined : at || '/'
  if (Array.isArray(value)) return misfitInList(rules, value, at)
  return typeof value === 'object' && value !== null ? misfitInObject(rules, value as Keywords, at) : undefined
}

function typeOf(value: unknown, wanted: readonly string[]): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value !== 'number' || !Number.isFinite(value)) return typeof value === 'number' ? 'none' : typeof value
  return Number.isInteger(value) && wanted.includes('integer') ? 'integer' : 'number'
}

function isText({ pattern, minLength = 0, maxLength = Number.POSITIVE_INFINITY }: Keywords, value: string): boolean {
  if (value.length < (minLength as number) || value.length > (maxLength as number)) return false
  return pattern === undefined || expression(pattern as string).test(value)
}

function isNumber(rules: Keywords, value: number): boolean {
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = rules
  return value >= (minimum as number) && value <= (maximum as number)
}

function misfitInList({ items, maxItems }: Keywords, value: readonly unknown[], at: string): string | undefined {
  if (maxItems !== undefined && value.length > (maxItems as number)) return at || '/'
  if (items === undefined) return undefined
  for (const [index, item] of value.entries()) {
    const inside = misfit(items as Schema, item, `${at}/${index}`)
    if (inside !== undefined) return inside
  }
  return undefined
}

function misfitInObject(rules: Keywords, value: Keywords, at: string): string | undefined {
  const { properties = {}, required = [], additionalProperties = true, propertyNames, maxProperties } = rules
  const names = Object.keys(value)
  if (maxProperties !== undefined && names.length > (maxProperties as number)) return at || '/'
  if (propertyNames !== undefined && !names.every((name) => fits(propertyNames as Schema, name))) return at || '/'
  for (const name of required as readonly string[]) if (!Object.hasOwn(value, name)) return `${at}/${name}`
  const known = properties as Readonly<Record<string, Schema>>
  for (const name in known) {
    if (!Object.hasOwn(value, name)) continue
    const inside = misfit(known[name] as Schema, value[name], `${at}/${name}`)
    if (inside !== undefined) return inside
  }
  if (additionalProperties === true) return undefined
  const others = names.filter((name) => !Object.hasOwn(known, name))
  const isFit = (name: string) => additionalProperties !== false && fits(additionalProperties as Schema, value[name])
  return others.every(isFit) ? undefined : at || '/'
}

const expressions = new Map<string, RegExp>()

/** Only patterns of our own schemas are used here, never one of a server. */
function expression(pattern: string): RegExp {
  const known = expressions.get(pattern) ?? new RegExp(pattern, 'u')
  expressions.set(pattern, known)
  return known
}
