/** The fixture resolvers of test/fixtures/resolvers, as the host tests use them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PlainResolver } from './plain-resolver.ts'

export function fixture(name: string): PlainResolver {
  const dir = join(import.meta.dirname, '../fixtures/resolvers', name)
  JSON.parse(readFileSync(join(dir, 'manifest.json'), 'utf8'))
  return { dir, name }
}
