/** Reads the parameters of the host's calls. Each reader throws `observation_refused` for a value of another kind. */
import { fail } from '../../core/errors.ts'
import { isObject } from '../../core/primitives/is-object.ts'

export type Fields = Record<string, unknown>

export function refuse(reason: string): Error {
  return fail('observation_refused', { reason })
}

export function fieldsOf(value: unknown, name = 'params'): Fields {
  if (!isObject(value)) throw refuse(`${name} is no object`)
  return value as Fields
}

export function textOf(fields: Fields, name: string): string {
  const value = fields[name]
  if (typeof value !== 'string') throw refuse(`${name} is no text`)
  return value
}

export function textOrNull(fields: Fields, name: string): string | null {
  return fields[name] === null || fields[name] === undefined ? null : textOf(fields, name)
}

/** A whole number from `least` to `most`; `otherwise` where there is none. */
export function numberOf(fields: Fields, name: string, least: number, most: number, otherwise?: number): number {
  const value = fields[name] ?? otherwise
  if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most)
    throw refuse(`${name} is no whole number from ${least} to ${most}`)
  return value
}

export function portOf(fields: Fields): number {
  return numberOf(fields, 'port', 1, 65_535)
}

/** The limit of one call. */
export function limitOf(fields: Fields, otherwise?: number): number {
  return numberOf(fields, 'timeout_ms', 1, 3_600_000, otherwise)
}

/** Texts by name, as headers and queries are. */
export function textsOf(fields: Fields, name: string): Record<string, string> {
  const value = fieldsOf(fields[name] ?? {}, name)
  for (const one of Object.keys(value)) textOf(value, one)
  return value as Record<string, string>
}

/** A path of the software. It has no host: with `//`, a backslash or a line end it could name another one. Throws `observation_refused`. */
export function checkedPath(path: string): string {
  if (!path.startsWith('/') || path.startsWith('//')) throw refuse('a path begins with one "/"')
  if (/[\\\r\n\t\0]/.test(path)) throw refuse('a path has no backslash, tab, line end or NUL')
  return path
}
