/** A resolver of one program with the SDK, beside the home of a test, added through the command line. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Home } from '../commands/cli.ts'

/** The directory of the resolver. `more`: of its manifest. */
export async function addedResolver(
  place: Home,
  name: string,
  program: string,
  more: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const dir = join(place.home, '..', `${place.home.split('/').at(-1)}-${name}`)
  mkdirSync(dir)
  const manifest = { name, version: '1.0.0', description: `The resolver ${name}`, command: ['node', 'resolver.mjs'] }
  writeFileSync(join(dir, 'manifest.json'), JSON.stringify({ ...manifest, ...more }))
  writeFileSync(join(dir, 'resolver.mjs'), program)
  expect((await place.run('resolver', 'add', dir)).code).toBe(0)
  return dir
}
