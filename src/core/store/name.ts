/** The name a consumer gave an instance after its creation (R9): a file of its own, since a journal's first line never changes. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeWholeSync } from '../files/write-whole.ts'

/** The name given last; undefined where it was never renamed. */
export function readName(root: string): string | null | undefined {
  try {
    const { name } = JSON.parse(readFileSync(fileIn(root), 'utf8')) as { name?: unknown }
    return typeof name === 'string' || name === null ? name : undefined
  } catch {
    return undefined
  }
}

/** On disk when this returns. */
export function writeName(root: string, name: string | null): void {
  writeWholeSync(fileIn(root), JSON.stringify({ name }), { mode: 0o600, durable: true })
}

function fileIn(root: string): string {
  return join(root, 'name.json')
}
