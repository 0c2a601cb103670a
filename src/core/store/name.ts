/**
 * The name that a consumer gave an instance after its creation (R9). It has its own file, because the first line of a journal
 * never changes.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeWholeSync } from '../files/write-whole.ts'

/** The latest name; undefined where the instance was never renamed. */
export function readName(root: string): string | null | undefined {
  try {
    const { name } = JSON.parse(readFileSync(fileIn(root), 'utf8')) as { name?: unknown }
    return typeof name === 'string' || name === null ? name : undefined
  } catch {
    return undefined
  }
}

/** Durable when this returns. */
export function writeName(root: string, name: string | null): void {
  writeWholeSync(fileIn(root), JSON.stringify({ name }), { mode: 0o600, durable: true })
}

function fileIn(root: string): string {
  return join(root, 'name.json')
}
