/** The values a form's conditions look at, each read from a payload once however many conditions share it; validate.ts uses it. */
import { isPlain, ownValue, pathKeys, plainValue } from './values.ts'

/** A path as it is followed: nearly every one is a single key. */
interface Path {
  first: string
  rest: readonly string[]
}

export class Slots {
  readonly #slots = new Map<string, number>()
  readonly #paths: Path[] = []

  /** Where the value at this path stands in what {@link read} gives. */
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
    // What the payload is, is asked once for all of them.
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
