/** The values a form's conditions look at, each read from a payload once however many conditions share it; validate.ts uses it. */
import { pathKeys, resolveKeys } from './values.ts'

export class Slots {
  readonly #slots = new Map<string, number>()
  readonly #keys: string[][] = []

  /** Where the value at this path stands in what {@link read} gives. */
  of(path: string): number {
    const keys = pathKeys(path)
    const name = keys.join('/')
    const known = this.#slots.get(name)
    if (known !== undefined) return known
    this.#slots.set(name, this.#keys.length)
    return this.#keys.push(keys) - 1
  }

  read(payload: unknown): unknown[] {
    return this.#keys.map((keys) => resolveKeys(payload, keys))
  }
}
