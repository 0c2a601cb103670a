/** A stamp of a resolver's files: {@link file://./inquiries.ts} asks no process again that was started before a change. */
import { type BigIntStats, type Dirent, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { SOURCE_STAMP_MAX_FILES } from '../../limits.ts'

/** Installed or generated: a change in them also changes a manifest or a lock file beside them. */
const PASSED_OVER = new Set(['node_modules', '.git', '__pycache__'])

/** Differs after any file below the directory was written, replaced, added or removed; undefined where there are too many files. */
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
      // A link's target counts: that is what is read. Links in a circle have too many files.
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
    // A link to nowhere, or to what may not be looked at.
    return undefined
  }
}
