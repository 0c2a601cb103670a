/**
 * Bounds the steps a pattern can take on a value, so that matcher.ts runs a harmless one without a watchdog (R34).
 *
 * The bound is that of a backtracking search, which follows every way to read the value to its end. One thing makes
 * most patterns cheap: where what follows a repeat can't take a character of the repeat (`\d+` before `\.`), giving
 * characters back fails at once.
 */
import { type CharacterSet, type Item, NOTHING, readPattern } from './pattern-shape.ts'

export interface PatternShape {
  alternatives: Item[][]
  /** Every alternative starts with `^`: elsewhere the search fails at once. */
  anchored: boolean
}

/** What is left of a pattern from some place on. */
interface Rest {
  /** At most so many steps each time it is reached. */
  steps: number
  /** Of these, those before a character is taken or refused. */
  head: number
  /** Where the value goes on, it goes on with one of these, or the rest fails within `head`. */
  first: CharacterSet
}

/** Longer repeats of a group are not worth their sum. */
const GROUP_MAX_TURNS = 256

const END: Rest = { steps: 1, head: 1, first: NOTHING }

/** undefined where the pattern has what can't be counted: look-around, back-references, modifiers. */
export function patternShape(source: string): PatternShape | undefined {
  const alternatives = readPattern(source)
  return alternatives && { alternatives, anchored: alternatives.every(([first]) => first?.kind === 'start') }
}

/** At most so many steps on a value of so many characters; Infinity where it may be more than `limit`. */
export function patternCost(shape: PatternShape, length: number, limit: number): number {
  const once = new Count(length, limit).alternatives(shape.alternatives, END)?.steps
  if (once === undefined) return Number.POSITIVE_INFINITY
  const all = shape.anchored ? once + length * shape.alternatives.length : once * (length + 1)
  return all > limit ? Number.POSITIVE_INFINITY : all
}

/** Counts from the end of a pattern to its start; undefined once it is over the limit. */
class Count {
  readonly #length: number
  readonly #limit: number

  constructor(length: number, limit: number) {
    this.#length = length
    this.#limit = limit
  }

  alternatives(alternatives: readonly Item[][], after: Rest): Rest | undefined {
    const sum: Rest = { steps: 1, head: 1, first: NOTHING }
    for (const items of alternatives) {
      let rest: Rest | undefined = after
      for (let at = items.length - 1; at >= 0 && rest !== undefined; at -= 1) rest = this.#item(items[at] as Item, rest)
      if (rest === undefined) return undefined
      sum.steps += rest.steps
      sum.head += rest.head
      sum.first = union(sum.first, rest.first)
    }
    return this.#limited(sum)
  }

  #item(item: Item, after: Rest): Rest | undefined {
    if (item.kind === 'group') return this.#group(item, after)
    if (item.kind === 'character') return this.#character(item, after)
    // `$` holds only where the value does not go on.
    const first = item.kind === 'end' ? NOTHING : after.first
    const head = item.kind === 'end' ? 1 : after.head + 1
    return this.#limited({ steps: after.steps + 1, head, first })
  }

  #character({ takes, least, most }: Item, after: Rest): Rest | undefined {
    const turns = Math.max(least, Math.min(most, this.#length))
    const stops = turns - least + 1
    const followed = disjoint(takes, after.first) ? after.steps + stops * after.head : stops * after.steps
    const steps = turns + followed + 1
    return least > 0
      ? this.#limited({ steps, head: 1, first: takes })
      : this.#limited({ steps, head: after.head + 2, first: union(takes, after.first) })
  }

  #group({ alternatives, least, most }: Item, after: Rest): Rest | undefined {
    // A turn beyond `least` that takes nothing is refused by the engine.
    const turns = Math.max(least, Math.min(most, least + this.#length))
    if (turns > GROUP_MAX_TURNS) return undefined
    let rest: Rest = after
    for (let turn = turns; turn > 0; turn -= 1) {
      const inner = this.alternatives(alternatives, rest)
      if (inner === undefined) return undefined
      rest = turn > least ? either(inner, after) : inner
    }
    return this.#limited(rest)
  }

  #limited(rest: Rest): Rest | undefined {
    return rest.steps > this.#limit ? undefined : rest
  }
}

function either(one: Rest, other: Rest): Rest {
  const first = union(one.first, other.first)
  return { steps: one.steps + other.steps + 1, head: one.head + other.head + 1, first }
}

function union(one: CharacterSet, other: CharacterSet): CharacterSet {
  return { ascii: one.ascii | other.ascii, others: one.others || other.others }
}

function disjoint(one: CharacterSet, other: CharacterSet): boolean {
  return (one.ascii & other.ascii) === 0n && !(one.others && other.others)
}
