/**
 * The Docker engine of this machine, for tests: whether there is one, the image that tests run in, and what they look at past our
 * own code. Without an engine Docker tests are skipped (test/house/docker-engine.ts says so once), unless RESOLVE_REQUIRE_DOCKER is set.
 */
import { execFile, execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe } from 'vitest'
import { root } from '../house/source-files.ts'

const hasEngine = process.env['RESOLVE_TEST_DOCKER'] === 'yes'

/** Where tests that need an engine stand; skipped as a whole where there is none. */
export const describeWithDocker = hasEngine ? describe : describe.skip

/** The image of the tests, made where it is missing: the first time this takes a minute or two. */
export function testImage(): string {
  if (!hasEngine) return 'no-engine'
  return execFileSync(process.execPath, [join(root, 'scripts', 'docker-base.mjs')], { encoding: 'utf8' }).trim()
}

/** What the engine's own program says; tests look at containers with it, never through our code. */
export async function docker(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('docker', args, { maxBuffer: 16 * 1024 * 1024 })
  return stdout.trim()
}

/** The ids of every container of an instance, running or not. */
export async function containersOf(instanceId: string): Promise<string[]> {
  const found = await docker('ps', '-aq', '--no-trunc', '--filter', `label=resolve.instance=${instanceId}`)
  return found.split('\n').filter(Boolean)
}
