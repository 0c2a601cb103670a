/** Finds files by their names where there is no repository: a walk that follows no link, and ends by its time or a stop wherever it is. */
import { readdir } from 'node:fs/promises'
import { TOOL_GLOB_PATHS, TOOL_SEARCH_LIMIT_MS } from '../../core/limits.ts'
import type { Lines } from './git-lines.ts'

/** What is large and never meant. */
const LEFT_OUT = new Set(['.git', 'node_modules', '.resolve'])

/** `allows`: whether a file, by its full path, may be named. */
export async function walk(
  directory: string,
  fits: (path: string) => boolean,
  allows: (path: string) => boolean,
  signal: AbortSignal,
): Promise<Lines> {
  const lines: string[] = []
  const until = Date.now() + TOOL_SEARCH_LIMIT_MS
  const open = ['']
  for (let below = open.shift(); below !== undefined; below = open.shift()) {
    signal.throwIfAborted()
    if (Date.now() > until) return { lines: lines.sort(), isCut: true }
    const entries = await readdir(`${directory}/${below}`, { withFileTypes: true }).catch(() => [])
    for (const entry of entries) {
      if (LEFT_OUT.has(entry.name)) continue
      const path = below === '' ? entry.name : `${below}/${entry.name}`
      if (entry.isDirectory()) open.push(path)
      else if (fits(path) && allows(`${directory}/${path}`)) lines.push(path)
      if (lines.length > TOOL_GLOB_PATHS) return { lines: lines.slice(0, TOOL_GLOB_PATHS).sort(), isCut: true }
    }
  }
  return { lines: lines.sort(), isCut: false }
}
