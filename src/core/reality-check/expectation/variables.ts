/** Replaces `{{$uuid}}`, `{{$random}}` and captured values in a step, so that no canned answer can fit. Pure but for chance. */
import { randomInt, randomUUID } from 'node:crypto'

const VARIABLE = /\{\{\s*(\$uuid|\$random|[A-Za-z_][A-Za-z0-9_]{0,63})\s*\}\}/g
const RANDOM_BELOW = 1_000_000_000

/** The values of one test: those of chance are made once a test. */
export class Variables {
  readonly #values = new Map<string, string>()

  set(name: string, value: string): void {
    this.#values.set(name, value)
  }

  /** The step with its variables replaced in every text; an unknown name stays as it is written. */
  in<T>(value: T): T {
    return replaced(value, (text) => text.replace(VARIABLE, (all, name: string) => this.#valueOf(name) ?? all)) as T
  }

  #valueOf(name: string): string | undefined {
    const known = this.#values.get(name)
    if (known !== undefined) return known
    if (name !== '$uuid' && name !== '$random') return undefined
    const made = name === '$uuid' ? randomUUID() : String(randomInt(RANDOM_BELOW))
    this.#values.set(name, made)
    return made
  }
}

function replaced(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map((entry) => replaced(entry, change))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, replaced(entry, change)]))
}
