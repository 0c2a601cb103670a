/** Replaces what is kept of a worker's output once the worker is gone; every driver that keeps it in files calls it (threats B9). */
import { readFileSync, statSync, truncateSync } from 'node:fs'
import { writeWholeSync } from '../files/write-whole.ts'
import { OUTPUT_REWRITE_MAX_BYTES } from '../limits.ts'

export function rewriteFiles(paths: readonly string[], change: (text: string) => string): void {
  for (const path of paths) {
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
    if (size === 0) continue
    // More than that is a channel, and nothing that anybody is shown.
    if (size > OUTPUT_REWRITE_MAX_BYTES) {
      truncateSync(path)
      continue
    }
    const before = readFileSync(path, 'utf8')
    const after = change(before)
    if (after !== before) writeWholeSync(path, after, { mode: 0o600 })
  }
}
