/**
 * The conditions of edges (docs/pipelines.md, Conditions): `outcome=success && context.tests!=failed`. Beyond the canonical language it
 * reads `||`, `!`, brackets, `contains`, `!contains`, `matches` and comparisons of numbers, and tells that they were used.
 */

export type Condition =
  | { kind: 'always' }
  | { kind: 'clause'; key: string; operator: Operator; literal: string }
  | { kind: 'truthy'; key: string }
  | { kind: 'not'; of: Condition }
  | { kind: 'and' | 'or'; of: Condition[] }

type Operator = '=' | '!=' | '<' | '>' | '<=' | '>=' | 'contains' | '!contains' | 'matches'

export type ConditionResult =
  | { isOk: true; condition: Condition /** What is not in the canonical language. */; extensions: string[] }
  | { isOk: false; message: string /** In UTF-16 units from the start of the condition. */; at: number }

/** What a condition is asked about. */
export interface Facts {
  status: string
  /** The label that the node prefers, where it set one. */
  label: string | undefined
  /** The value of a key of the context; `context.x` and `x` are one key. Undefined where it has none. */
  get(key: string): unknown
}

const DEPTH_MAX = 32
const MATCHED_MAX_CHARS = 100_000
const KEY = /[\p{L}\p{N}_.:$-]+/uy
const OPERATOR = /\s*(==|!=|<=|>=|=|<|>|!contains\b|contains\b|matches\b)\s*/y

export function parseCondition(text: string): ConditionResult {
  const reader = new Reader(text)
  try {
    return { isOk: true, condition: reader.whole(), extensions: [...reader.extensions] }
  } catch (error) {
    if (error instanceof Refused) return { isOk: false, message: error.message, at: error.at }
    throw error
  }
}

class Refused extends Error {
  readonly at: number

  constructor(message: string, at: number) {
    super(message)
    this.at = at
  }
}

class Reader {
  readonly extensions = new Set<string>()
  readonly #text: string
  #at = 0
  #depth = 0

  constructor(text: string) {
    this.#text = text
  }

  whole(): Condition {
    this.#space()
    if (this.#at === this.#text.length) return { kind: 'always' }
    const condition = this.#any()
    if (this.#at < this.#text.length)
      throw this.#refused(`Unexpected ${JSON.stringify(this.#text.slice(this.#at, this.#at + 20))}.`)
    return condition
  }

  #any(): Condition {
    const parts = [this.#all()]
    while (this.#took('||')) {
      this.extensions.add('||')
      parts.push(this.#all())
    }
    return parts.length === 1 ? (parts[0] as Condition) : { kind: 'or', of: parts }
  }

  #all(): Condition {
    const parts = [this.#one()]
    while (this.#took('&&')) parts.push(this.#one())
    return parts.length === 1 ? (parts[0] as Condition) : { kind: 'and', of: parts }
  }

  #one(): Condition {
    this.#space()
    if (this.#depth >= DEPTH_MAX) throw this.#refused('Brackets and "!" stand within each other too often.')
    this.#depth += 1
    try {
      if (this.#took('!')) {
        this.extensions.add('!')
        return { kind: 'not', of: this.#one() }
      }
      if (this.#took('(')) {
        this.extensions.add('( )')
        const inner = this.#any()
        if (!this.#took(')')) throw this.#refused('Expected ")".')
        return inner
      }
      return this.#clause()
    } finally {
      this.#depth -= 1
    }
  }

  #clause(): Condition {
    KEY.lastIndex = this.#at
    const [key] = KEY.exec(this.#text) ?? []
    if (key === undefined) throw this.#refused('Expected a key, such as outcome or context.tests.')
    this.#at += key.length
    OPERATOR.lastIndex = this.#at
    const [whole, written] = OPERATOR.exec(this.#text) ?? []
    if (whole === undefined || written === undefined) {
      this.#space()
      return { kind: 'truthy', key }
    }
    const at = this.#at
    this.#at += whole.length
    const operator = (written === '==' ? '=' : written) as Operator
    if (written !== '=' && written !== '!=') this.extensions.add(written)
    const literal = this.#literal()
    if (operator === 'matches' && !isPattern(literal)) throw new Refused(`/${literal}/ is no regular expression.`, at)
    return { kind: 'clause', key, operator, literal }
  }

  /** In quotes, or up to what joins clauses. Empty is a value too: `context.error=`. */
  #literal(): string {
    const quote = this.#text[this.#at]
    if (quote === '"' || quote === "'") {
      const end = this.#text.indexOf(quote, this.#at + 1)
      if (end === -1) throw this.#refused('A quote opens here and is not closed.')
      const literal = this.#text.slice(this.#at + 1, end)
      this.#at = end + 1
      this.#space()
      return literal
    }
    const rest = this.#text.slice(this.#at)
    const end = rest.search(/&&|\|\||\)/)
    const literal = end === -1 ? rest : rest.slice(0, end)
    this.#at += literal.length
    return literal.trim()
  }

  #took(mark: string): boolean {
    this.#space()
    if (!this.#text.startsWith(mark, this.#at)) return false
    this.#at += mark.length
    return true
  }

  #space(): void {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at += 1
  }

  #refused(message: string): Refused {
    return new Refused(message, this.#at)
  }
}

function isPattern(text: string): boolean {
  try {
    new RegExp(text, 'u')
    return true
  } catch {
    return false
  }
}

export function isTrue(condition: Condition, facts: Facts): boolean {
  switch (condition.kind) {
    case 'always':
      return true
    case 'not':
      return !isTrue(condition.of, facts)
    case 'and':
      return condition.of.every((one) => isTrue(one, facts))
    case 'or':
      return condition.of.some((one) => isTrue(one, facts))
    case 'truthy':
      return read(condition.key, facts) !== ''
    case 'clause':
      return isClauseTrue(condition, facts)
  }
}

function isClauseTrue({ key, operator, literal }: Extract<Condition, { kind: 'clause' }>, facts: Facts): boolean {
  if (key === 'outcome') {
    const wanted = STATUS_NAMES[literal] ?? literal
    // A label stands for the outcome where a node set one; its status answers too, so that graphs for both readings run.
    if (operator === '=') return facts.label === literal || facts.status === wanted
    if (operator === '!=') return facts.label === undefined ? facts.status !== wanted : facts.label !== literal
  }
  const value = read(key, facts)
  switch (operator) {
    case '=':
      return value === literal
    case '!=':
      return value !== literal
    case 'contains':
      return value.includes(literal)
    case '!contains':
      return !value.includes(literal)
    case 'matches':
      return new RegExp(literal, 'u').test(value.slice(0, MATCHED_MAX_CHARS))
    default:
      return compared(value, operator, literal)
  }
}

function compared(value: string, operator: '<' | '>' | '<=' | '>=', literal: string): boolean {
  const [left, right] = [Number(value), Number(literal)]
  if (value.trim() === '' || literal.trim() === '' || Number.isNaN(left) || Number.isNaN(right)) return false
  if (operator === '<') return left < right
  if (operator === '>') return left > right
  return operator === '<=' ? left <= right : left >= right
}

/** Words of other engines for the same status. */
const STATUS_NAMES: Readonly<Record<string, string>> = {
  succeeded: 'success',
  failed: 'fail',
  partially_succeeded: 'partial_success',
}

function read(key: string, facts: Facts): string {
  if (key === 'outcome') return facts.label ?? facts.status
  if (key === 'preferred_label') return facts.label ?? ''
  return asText(facts.get(key))
}

/** How a value of the context is compared and put into a text: `true` for JSON's true, JSON for objects, nothing for what is not there. */
export function asText(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Every key that a condition reads. */
export function keysOf(condition: Condition): string[] {
  if (condition.kind === 'always') return []
  if (condition.kind === 'clause' || condition.kind === 'truthy') return [condition.key]
  return condition.kind === 'not' ? keysOf(condition.of) : condition.of.flatMap(keysOf)
}
