/**
 * Lists the secret texts of a live instance beside its journal, sealed: its host writes the list before it accepts a value, and other
 * processes that read files of the instance know from it what to redact (threats B9).
 */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeWholeSync } from '../files/write-whole.ts'
import { open, seal } from './seal.ts'
import { SEALED_TEXTS_FILE } from './sealed-instances.ts'

/** `root`: the directory of the instance. Throws `secret_key_unusable`, and the system's error. */
export function writeSealedTexts(home: string, root: string, id: string, texts: readonly string[]): void {
  writeWholeSync(join(root, SEALED_TEXTS_FILE), sealTexts(home, id, texts), { mode: 0o600 })
}

/** The content of the list. Throws `secret_key_unusable`, `disk_full`. */
export function sealTexts(home: string, id: string, texts: readonly string[]): string {
  return seal(home, placeOf(id), JSON.stringify(texts))
}

/**
 * Empty where there are none. A reader that cannot open them must not hand out what they are redacted from. Throws `secret_unreadable`,
 * `secret_key_unusable`.
 */
export function readSealedTexts(home: string, root: string, id: string): string[] {
  const path = join(root, SEALED_TEXTS_FILE)
  if (!existsSync(path)) return []
  return JSON.parse(open(home, placeOf(id), readFileSync(path, 'utf8'))) as string[]
}

/** For an instance that has none after all. */
export function removeSealedTexts(root: string): void {
  rmSync(join(root, SEALED_TEXTS_FILE), { force: true })
}

function placeOf(id: string): string {
  return `texts of instance ${id}`
}
