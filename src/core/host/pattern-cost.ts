/**
 * Bounds the steps a pattern can take on a value, so that the matcher runs a harmless one without a watchdog (R34).
 * The bound is that of a backtracking search: every way to read the value is followed to its end. What it doesn't know
 * (look-around, back-references, long repeats of a group) costs infinitely much.
 */

/** One thing a pattern reads: a character, `^`, another assertion, or a group; from `least` to `most` times. */
interface Item {
  kind: 'character' | 'start' | 'assertion' | 'group'
  alternatives: Item[][]
  least: number
  most: number
}

export interface PatternShape {
  alternatives: Item[][]
  /** Every alternative starts with `^`: the search starts in one place only. */
  anchored: boolean
}

/** Longer repeats of a group are not worth their sum. */
const GROUP_MAX_REPEATS = 16

const CHARACTER =
  /(?:\\(?:u\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[a-zA-Z]|[pP]\{[^}]*\}|[^1-9kbB])|\[(?:\\.|[^\]\\])*\]|[^\\[\]()|^$*+?{}])/y
const ASSERTION = /[\^$]|\\[bB]/y
const GROUP = /\((?:\?:|\?<(?![=!])[^>]*>|(?!\?))/y
const QUANTIFIER = /(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/y

/** The shape of a valid `u` pattern; undefined where it has what the bound doesn't know. */
export function patternShape(source: string): PatternShape | undefined {
  const reader = new Reader(source)
  const alternatives = reader.alternatives()
  if (alternatives === undefined || !reader.atEnd) return undefined
  return { alternatives, anchored: alternatives.every(([first]) => first?.kind === 'start') }
}

/** At most so many steps on a value of so many characters; Infinity above `limit`. */
export function patternCost(shape: PatternShape, length: number, limit: number): number {
  const once = alternativesCost(shape.alternatives, 1, length, limit)
  // Where `^` is not at the start of the value each alternative fails at once.
  const all = shape.anchored ? once + length * shape.alternatives.length : once * (length + 1)
  return all > limit ? Number.POSITIVE_INFINITY : all
}

/** `after` is what follows costs, each time it is reached. */
function alternativesCost(alternatives: Item[][], after: number, length: number, limit: number): number {
  let sum = 0
  for (const items of alternatives) {
    let cost = after
    for (const item of items.toReversed()) {
      cost = itemCost(item, cost, length, limit)
      if (cost > limit) return Number.POSITIVE_INFINITY
    }
    sum += cost + 1
  }
  return sum
}

function itemCost(item: Item, after: number, length: number, limit: number): number {
  if (item.kind === 'assertion' || item.kind === 'start') return after + 1
  if (item.kind === 'character') {
    const most = Math.max(item.least, Math.min(item.most, length))
    return most + (most - item.least + 1) * after
  }
  if (item.most > GROUP_MAX_REPEATS) return Number.POSITIVE_INFINITY
  let cost = after
  for (let turn = item.most; turn > 0; turn -= 1) {
    cost = alternativesCost(item.alternatives, cost, length, limit) + (turn > item.least ? after : 0)
    if (cost > limit) return Number.POSITIVE_INFINITY
  }
  return cost
}

class Reader {
  readonly #source: string
  #at = 0

  constructor(source: string) {
    this.#source = source
  }

  get atEnd(): boolean {
    return this.#at === this.#source.length
  }

  alternatives(): Item[][] | undefined {
    const alternatives: Item[][] = [[]]
    while (!this.atEnd && this.#source[this.#at] !== ')') {
      if (this.#source[this.#at] === '|') {
        this.#at += 1
        alternatives.push([])
        continue
      }
      const item = this.#item()
      if (item === undefined) return undefined
      alternatives.at(-1)?.push(item)
    }
    return alternatives
  }

  #item(): Item | undefined {
    const assertion = this.#take(ASSERTION)?.[0]
    if (assertion !== undefined) {
      return { kind: assertion === '^' ? 'start' : 'assertion', alternatives: [], least: 1, most: 1 }
    }
    if (this.#take(CHARACTER) !== undefined) return this.#repeated({ kind: 'character', alternatives: [] })
    if (this.#take(GROUP) === undefined) return undefined
    const alternatives = this.alternatives()
    if (alternatives === undefined || this.#source[this.#at] !== ')') return undefined
    this.#at += 1
    return this.#repeated({ kind: 'group', alternatives })
  }

  #repeated(read: Pick<Item, 'kind' | 'alternatives'>): Item {
    const [text, sign, from, comma, to] = this.#take(QUANTIFIER) ?? []
    if (text === undefined) return { ...read, least: 1, most: 1 }
    if (sign !== undefined) return { ...read, least: sign === '+' ? 1 : 0, most: sign === '?' ? 1 : Infinity }
    const least = Number(from)
    const most = comma === undefined ? least : to === '' ? Infinity : Number(to)
    return { ...read, least, most }
  }

  #take(token: RegExp): RegExpExecArray | undefined {
    token.lastIndex = this.#at
    const found = token.exec(this.#source)
    if (found === null) return undefined
    this.#at = token.lastIndex
    return found
  }
}
