/** A backtracking search over a pattern's shape that counts its steps: what the bound of pattern-cost.ts is held against. */
import type { Item } from '../../src/core/form-check/pattern-shape.ts'

export function countedSteps(pattern: Item[][], value: string): number {
  let steps = 0
  type Then = (at: number) => boolean

  const anyOf = (alternatives: Item[][], at: number, then: Then): boolean => {
    steps += 1
    return alternatives.some((items) => row(items, 0, at, then))
  }

  const row = (items: Item[], index: number, at: number, then: Then): boolean => {
    const item = items[index]
    if (item === undefined) return then(at)
    const next: Then = (after) => row(items, index + 1, after, then)
    steps += 1
    if (item.kind === 'start') return at === 0 && next(at)
    if (item.kind === 'end') return at === value.length && next(at)
    if (item.kind === 'border') return next(at)
    return item.kind === 'character' ? characters(item, at, next) : turn(item, 0, at, -1, next)
  }

  const characters = (item: Item, from: number, next: Then): boolean => {
    let taken = 0
    while (taken < item.most && from + taken < value.length && takes(item, value.charCodeAt(from + taken))) {
      taken += 1
      steps += 1
    }
    for (; taken >= item.least; taken -= 1) if (next(from + taken)) return true
    return false
  }

  const turn = (item: Item, done: number, at: number, before: number, next: Then): boolean => {
    if (done > item.least && at === before) return false
    const again: Then = (after) => turn(item, done + 1, after, at, next)
    if (done < item.most && anyOf(item.alternatives, at, again)) return true
    return done >= item.least && next(at)
  }

  for (let start = 0; start <= value.length; start += 1) {
    if (anyOf(pattern, start, () => true)) break
  }
  return steps
}

function takes(item: Item, code: number): boolean {
  return code < 128 ? ((item.takes.ascii >> BigInt(code)) & 1n) === 1n : item.takes.others
}
