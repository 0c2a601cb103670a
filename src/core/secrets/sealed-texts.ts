/**
 * Lists the secret texts of a live instance beside its journal, sealed: its host writes the list before it accepts a value, and other
 * processes that read files of the instance know from it what to redact (threats B9).
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ResolveError } from '../errors.ts'
import { writeWholeSync } from '../files/write-whole.ts'
import { open, seal } from './seal.ts'

const FILE = 'sealed'

/** `root`: the directory of the instance. Throws `secret_key_unusable`, and the system's error. */
export function writeSealedTexts(home: string, root: string, id: string, texts: readonly string[]): void {
  writeWholeSync(join(root, FILE), seal(home, placeOf(id), JSON.stringify(texts)), { mode: 0o600 })
}

/** Empty where there are none, or the key of this home cannot open them. */
export function readSealedTexts(home: string, root: string, id: string): string[] {
  const path = join(root, FILE)
  if (!existsSync(path)) return []
  try {
    return JSON.parse(open(home, placeOf(id), readFileSync(path, 'utf8'))) as string[]
  } catch (error) {
    if (error instanceof ResolveError) return []
    throw error
  }
}

function placeOf(id: string): string {
  return `texts of instance ${id}`
}
