/** Reads a pattern into the few things pattern-cost.ts can count; whatever else there is makes it unreadable (R34). */

/** The characters an item can take: a bit for each ASCII one, and whether it may take others. */
export interface CharacterSet {
  ascii: bigint
  others: boolean
}

/** One thing a pattern reads, from `least` to `most` times. */
export interface Item {
  kind: 'character' | 'start' | 'end' | 'border' | 'group'
  takes: CharacterSet
  alternatives: Item[][]
  least: number
  most: number
}

export const NOTHING: CharacterSet = { ascii: 0n, others: false }

/** Two halves of a character beyond the BMP are one, or a quantifier would be read as the second half's only. */
const CHARACTER =
  /(?:[\ud800-\udbff][\udc00-\udfff]|\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\(?:u\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[a-zA-Z]|[pP]\{[^}]*\}|[^1-9kbB])|\[(?:\\.|[^\]\\])*\]|[^\\[\]()|^$*+?{}])/y
const BORDER = /[\^$]|\\[bB]/y
/** Look-around and modifiers are groups it doesn't know. */
const GROUP = /\((?:\?:|\?<(?![=!])[^>]*>|(?!\?))/y
const QUANTIFIER = /(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/y
/** ASCII characters, escaped signs, `\d`, `\w` and classes of these can't take anything beyond ASCII. */
const ASCII_ONLY =
  /^(?:[^\P{ASCII}.[\\]|\\[dwtnrvf]|\\[^\P{ASCII}\w]|\[(?!\^)(?:[^\P{ASCII}\\]|\\[dwtnrvf]|\\[^\P{ASCII}\w])*\])$/u

/** The alternatives of a valid `u` pattern; undefined where it has something that can't be counted. */
export function readPattern(source: string): Item[][] | undefined {
  const reader = new Reader(source)
  const alternatives = reader.alternatives()
  return reader.atEnd ? alternatives : undefined
}

class Reader {
  readonly #source: string
  readonly #sets = new Map<string, CharacterSet>()
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
    const border = this.#take(BORDER)?.[0]
    if (border !== undefined) {
      const kind = border === '^' ? 'start' : border === '$' ? 'end' : 'border'
      return { kind, takes: NOTHING, alternatives: [], least: 1, most: 1 }
    }
    const character = this.#take(CHARACTER)?.[0]
    if (character !== undefined) {
      return { kind: 'character', takes: this.#setOf(character), alternatives: [], ...this.#repeats() }
    }
    if (this.#take(GROUP) === undefined) return undefined
    const alternatives = this.alternatives()
    if (alternatives === undefined || this.#source[this.#at] !== ')') return undefined
    this.#at += 1
    return { kind: 'group', takes: NOTHING, alternatives, ...this.#repeats() }
  }

  #repeats(): { least: number; most: number } {
    const [text, sign, from, comma, to] = this.#take(QUANTIFIER) ?? []
    if (text === undefined) return { least: 1, most: 1 }
    if (sign !== undefined) return { least: sign === '+' ? 1 : 0, most: sign === '?' ? 1 : Number.POSITIVE_INFINITY }
    const least = Number(from)
    return { least, most: comma === undefined ? least : to === '' ? Number.POSITIVE_INFINITY : Number(to) }
  }

  #setOf(character: string): CharacterSet {
    const before = this.#sets.get(character)
    if (before !== undefined) return before
    const set = { ascii: asciiOf(character), others: !ASCII_ONLY.test(character) }
    this.#sets.set(character, set)
    return set
  }

  #take(token: RegExp): RegExpExecArray | undefined {
    token.lastIndex = this.#at
    const found = token.exec(this.#source)
    if (found === null) return undefined
    this.#at = token.lastIndex
    return found
  }
}

/** Asks the engine itself; half of a character beyond the BMP takes nothing in ASCII. */
function asciiOf(character: string): bigint {
  if (character.length === 1 && character !== '.') {
    const code = character.charCodeAt(0)
    return code < 128 ? 1n << BigInt(code) : 0n
  }
  const expression = new RegExp(`^${character}$`, 'u')
  let ascii = 0n
  for (let code = 0; code < 128; code += 1) if (expression.test(String.fromCharCode(code))) ascii |= 1n << BigInt(code)
  return ascii
}
