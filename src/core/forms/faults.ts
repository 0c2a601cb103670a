/** Collects the faults of a form as sentences for its author; parse-form.ts and parse-condition.ts fill it. */

/** A hostile form may have a fault in every byte: after these, faults are only counted. */
const FAULTS_SHOWN = 200
const QUOTED_MAX_CHARS = 60

export class Faults {
  readonly #sentences: string[] = []
  #more = 0

  /** `where` names the component and the check; `problem` says what is wrong there. */
  add(where: string, problem: string): void {
    if (this.#sentences.length < FAULTS_SHOWN) this.#sentences.push(`${where}: ${problem}.`)
    else this.#more += 1
  }

  get sentences(): string[] {
    return this.#more === 0 ? [...this.#sentences] : [...this.#sentences, `And ${this.#more} more faults.`]
  }

  get count(): number {
    return this.#sentences.length + this.#more
  }
}

/** A text from outside, shortened to one line. */
export function quote(text: string): string {
  return JSON.stringify(text.length > QUOTED_MAX_CHARS ? `${text.slice(0, QUOTED_MAX_CHARS)}…` : text)
}

/** Describes a value for a sentence: `a list`, `the number 3`. */
export function describe(value: unknown): string {
  if (value === undefined) return 'missing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'an object'
  if (typeof value === 'string') return `the text ${quote(value)}`
  if (typeof value === 'number') return `the number ${value}`
  return String(value)
}

export type JsonObject = Record<string, unknown>

/** An own property; null counts as absent, because many languages write an absent field as null. */
export function read(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? (object[key] ?? undefined) : undefined
}
