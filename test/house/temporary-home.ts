/** Set up once before all tests: every process they start finds a home and a cache of its own, removed at the end. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export default function setUp(): () => void {
  const home = mkdtempSync(join(tmpdir(), 'resolve-tests-'))
  process.env['RESOLVE_HOME'] = join(home, 'home')
  process.env['XDG_CACHE_HOME'] = join(home, 'cache')
  for (const name of ['RESOLVE_URL', 'RESOLVE_TOKEN', 'NODE_COMPILE_CACHE']) delete process.env[name]
  return () => rmSync(home, { recursive: true, force: true })
}
