/**
 * Rewrites the stored output of a worker after it has ended; drivers that keep it in files call it to redact secrets (threats
 * B9).
 */
import { readFileSync, statSync, truncateSync } from 'node:fs'
import { writeWholeSync } from '../files/write-whole.ts'
import { OUTPUT_REWRITE_MAX_BYTES } from '../limits.ts'

export function rewriteFiles(paths: readonly string[], change: (text: string) => string): void {
  for (const path of paths) {
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
    if (size === 0) continue
    // A larger file is the JSON-RPC channel, which no reader is shown.
    if (size > OUTPUT_REWRITE_MAX_BYTES) {
      truncateSync(path)
      continue
    }
    const before = readFileSync(path, 'utf8')
    const after = change(before)
    if (after !== before) writeWholeSync(path, after, { mode: 0o600 })
  }
}
