/**
 * Computes a stamp of a resolver's files: {@link file://./inquiries.ts} does not reuse a process that was started before a
 * change.
 */
import { type BigIntStats, type Dirent, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { SOURCE_STAMP_MAX_FILES } from '../../limits.ts'

/** Installed or generated: when they change, so does a manifest or a lock file beside them. */
const PASSED_OVER = new Set(['node_modules', '.git', '__pycache__'])

/** Changes when any file below the directory is written, replaced, added or removed; undefined where there are too many files. */
export function sourceStamp(directory: string): string | undefined {
  const stamps: string[] = []
  const waiting = ['']
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    let entries: Dirent[]
    try {
      entries = readdirSync(join(directory, at), { withFileTypes: true })
    } catch {
      return undefined
    }
    for (const entry of entries) {
      if (PASSED_OVER.has(entry.name)) continue
      const path = join(at, entry.name)
      // A link counts as its target, because the target is read. A circle of links reaches the limit of files.
      const stat = statOf(join(directory, path))
      if (stat?.isDirectory()) waiting.push(path)
      if (stamps.length >= SOURCE_STAMP_MAX_FILES) return undefined
      stamps.push(`${path} ${stat?.ino} ${stat?.size} ${stat?.mtimeNs} ${stat?.ctimeNs}`)
    }
  }
  return stamps.sort().join('\n')
}

function statOf(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true })
  } catch {
    // A dangling link, or a file that may not be read.
    return undefined
  }
}
