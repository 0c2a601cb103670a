/**
 * Reads JSON that people write by hand. Also finds duplicate keys, which JSON.parse drops silently, and nesting that is too
 * deep.
 */
import { JSON_MAX_DEPTH } from '../../limits.ts'

export type ReadJson = { value: unknown; reason: null; duplicates: DuplicateKey[] } | { value: null; reason: string }

export interface DuplicateKey {
  /** The keys that lead to the object; list indexes are left out. */
  inside: string[]
  key: string
}

/** Never throws: returns a clause that says why the bytes are not valid JSON. */
export function readJson(bytes: Uint8Array): ReadJson {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return { value: null, reason: 'it is not UTF-8 text' }
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return { value: null, reason: `it is not JSON: ${firstClause(error)}` }
  }
  const { depth, duplicates } = walk(text)
  if (depth > JSON_MAX_DEPTH) return { value: null, reason: `it nests deeper than ${JSON_MAX_DEPTH} levels` }
  return { value, reason: null, duplicates }
}

function firstClause(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message
    .replace(/[\p{C}\s]+/gu, ' ')
    .replace(/ in JSON| is not valid JSON/, '')
    .slice(0, 160)
}

interface Level {
  /** Undefined in a list. */
  keys: Set<string> | undefined
  last: string | undefined
}

/** Scans text that is known to be valid JSON: only strings and brackets matter. */
function walk(text: string): { depth: number; duplicates: DuplicateKey[] } {
  const levels: Level[] = []
  const duplicates: DuplicateKey[] = []
  let depth = 0
  const token = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|[[\]{}]/g
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const found = match[0]
    if (found === '{' || found === '[') {
      levels.push({ keys: found === '{' ? new Set() : undefined, last: undefined })
      depth = Math.max(depth, levels.length)
    } else if (found === '}' || found === ']') {
      levels.pop()
    } else if (match[1] !== undefined) {
      const level = levels.at(-1)
      const key = JSON.parse(found.slice(0, found.length - match[1].length)) as string
      if (level?.keys?.has(key)) duplicates.push({ inside: pathOf(levels), key })
      level?.keys?.add(key)
      if (level) level.last = key
    }
  }
  return { depth, duplicates }
}

function pathOf(levels: readonly Level[]): string[] {
  return levels.slice(0, -1).flatMap((level) => (level.last === undefined ? [] : [level.last]))
}
