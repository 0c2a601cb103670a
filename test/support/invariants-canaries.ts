/** I9: files outside an instance are what they were, and nothing a consumer can have tells a secret or the host's environment (reliability, Invariants). */
import { createHash } from 'node:crypto'
import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Report } from './invariants.ts'

export interface Canaries {
  /** Trees outside the instance, as {@link fingerprint} saw them before and after. */
  before: string
  after: string
  /** What must be heard of nowhere. */
  unheard: readonly string[]
  /** Everything that a consumer can have, by the place where it can be had. */
  outputs: readonly (readonly [where: string, said: string | Buffer])[]
}

export function checkCanaries({ before, after, unheard, outputs }: Canaries, report: Report): void {
  if (before !== after) report('I9', 'what lies outside was changed')
  for (const [where, said] of outputs) {
    const bytes = Buffer.from(said)
    for (const canary of unheard) if (bytes.includes(canary)) report('I9', `${canary} in ${where}`)
  }
}

/** Names, modes and contents of a tree. */
export function fingerprint(folder: string): string {
  const hash = createHash('sha256')
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  for (const entry of entries.sort((a, b) => (join(a.parentPath, a.name) < join(b.parentPath, b.name) ? -1 : 1))) {
    const path = join(entry.parentPath, entry.name)
    const { mode, nlink } = lstatSync(path)
    hash.update(`${path}\0${mode}\0${entry.isFile() ? `${nlink}\0${readFileSync(path, 'utf8')}` : 'other'}\0`)
  }
  return hash.digest('hex')
}
