/**
 * Patterns of the names of files, as git reads them (`*`, `?`, `[a-z]`, `**`), and `{a,b}`. A model may have been misled: matching takes time in
 * proportion to pattern and name, whatever they are. Pure.
 */
import { TOOL_PATTERN_ALTERNATIVES } from '../../core/limits.ts'

export type Patterns = { patterns: readonly string[] } | { problem: string }

/** The patterns that one stands for, below a directory. */
export function readPattern(pattern: string, directory: string): Patterns {
  const own = `${directory === '/' ? '' : directory}/`
  const below = pattern.startsWith(own) ? pattern.slice(own.length) : pattern.replace(/^(?:\.\/)+/, '')
  if (below.startsWith('/') || below.split('/').includes('..'))
    return { problem: `${pattern.slice(0, 200)} leads out of ${directory}. Give path for another directory.` }
  const all = alternatives(below)
  if (all === undefined) return { problem: `A pattern has at most ${TOOL_PATTERN_ALTERNATIVES} alternatives.` }
  // A name may have braces.
  return { patterns: [...new Set([...all, below])].filter((one) => one !== '') }
}

/** `a{b,c}` is `ab` and `ac`. undefined where there are too many. */
function alternatives(pattern: string): string[] | undefined {
  const done: string[] = []
  const open = [pattern]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const found = firstChoice(next)
    if (found === undefined) done.push(next)
    else open.push(...found)
    if (done.length + open.length > TOOL_PATTERN_ALTERNATIVES) return undefined
  }
  return done
}

function firstChoice(pattern: string): string[] | undefined {
  for (let from = pattern.indexOf('{'); from !== -1; from = pattern.indexOf('{', from + 1)) {
    const cuts = [from]
    let depth = 0
    for (let at = from; at < pattern.length; at += 1) {
      if (pattern[at] === '{') depth += 1
      else if (pattern[at] === ',' && depth === 1) cuts.push(at)
      else if (pattern[at] === '}') depth -= 1
      if (depth > 0) continue
      if (cuts.length === 1) break
      const [head, tail] = [pattern.slice(0, from), pattern.slice(at + 1)]
      return cuts.map((cut, index) => head + pattern.slice(cut + 1, cuts[index + 1] ?? at) + tail)
    }
  }
  return undefined
}

/** Whether a path, without `/` at its ends, fits one of them. */
export function matcherOf(patterns: readonly string[]): (path: string) => boolean {
  const all = patterns.map((pattern) => pattern.split('/').filter((part) => part !== ''))
  return (path) => {
    const names = path.split('/')
    return all.some((parts) => fitsParts(parts, names))
  }
}

/** Parts of a pattern against names of directories: `**` stands for any number of them. */
function fitsParts(parts: readonly string[], names: readonly string[]): boolean {
  return fitsItems(
    parts.length,
    names.length,
    (part) => parts[part] === '**',
    (part, name) => fitsName(parts[part] ?? '', names[name] ?? ''),
  )
}

const TOKEN = /\\.|\[[!^]?\]?[^\]]*\]|./gsu

function fitsName(part: string, name: string): boolean {
  const tokens = part.match(TOKEN) ?? []
  const chars = [...name]
  return fitsItems(
    tokens.length,
    chars.length,
    (token) => tokens[token] === '*' || tokens[token] === '**',
    (token, char) => fitsChar(tokens[token] ?? '', chars[char] ?? ''),
  )
}

function fitsChar(token: string, char: string): boolean {
  if (token === '?') return true
  if (token.length > 1 && token.startsWith('\\')) return token.slice(1) === char
  if (token.length < 3 || !token.startsWith('[')) return token === char
  const isNot = token[1] === '!' || token[1] === '^'
  const set = [...token.slice(isNot ? 2 : 1, -1)]
  const isIn = set.some((one, at) => {
    const to = set[at + 2]
    return one === char || (set[at + 1] === '-' && to !== undefined && one <= char && char <= to)
  })
  return isIn !== isNot
}

/** With `any` for any number of items. Only the last of these is gone back to: earlier ones need not take more. */
function fitsItems(
  patternLength: number,
  length: number,
  isAny: (at: number) => boolean,
  isOne: (at: number, item: number) => boolean,
): boolean {
  let [at, item] = [0, 0]
  let back: { at: number; item: number } | undefined
  while (item < length) {
    if (at < patternLength && isAny(at)) {
      back = { at, item }
      at += 1
    } else if (at < patternLength && isOne(at, item)) {
      at += 1
      item += 1
    } else if (back !== undefined) {
      back.item += 1
      at = back.at + 1
      item = back.item
    } else return false
  }
  while (at < patternLength && isAny(at)) at += 1
  return at === patternLength
}
