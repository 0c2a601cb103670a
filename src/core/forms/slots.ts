/**
 * The values that a form's conditions read. Each is read from a payload once, even when several conditions use it; validate.ts
 * calls it.
 */
import { isPlain, ownValue, pathKeys, plainValue } from './values.ts'

/** A parsed path: nearly every path is a single key. */
interface Path {
  first: string
  rest: readonly string[]
}

export class Slots {
  readonly #slots = new Map<string, number>()
  readonly #paths: Path[] = []

  /** The index of this path's value in the result of {@link read}. */
  of(path: string): number {
    const keys = pathKeys(path)
    const name = keys.join('/')
    const known = this.#slots.get(name)
    if (known !== undefined) return known
    this.#slots.set(name, this.#paths.length)
    const [first = '', ...rest] = keys
    return this.#paths.push({ first, rest }) - 1
  }

  read(payload: unknown): unknown[] {
    const values: unknown[] = []
    // The kind of the payload is determined once for all paths.
    if (isPlain(payload))
      for (const { first, rest } of this.#paths) values.push(resolve(plainValue(payload, first), rest))
    else for (const { first, rest } of this.#paths) values.push(resolve(ownValue(payload, first), rest))
    return values
  }
}

function resolve(holder: unknown, keys: readonly string[]): unknown {
  let value = holder
  for (let at = 0; at < keys.length && value !== null; at += 1) value = ownValue(value, keys[at] as string)
  return value
}
