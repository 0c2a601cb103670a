/**
 * The Docker engine of this machine, for tests: whether there is one, the image that tests run in, and what they look at past our
 * own code. Without an engine Docker tests are skipped (test/house/docker-engine.ts says so once), unless RESOLVE_REQUIRE_DOCKER is set.
 */
import { execFile, execFileSync } from 'node:child_process'
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe } from 'vitest'
import type { Payload } from '../../src/core/protocol/form.ts'
import { homeLabel } from '../../src/core/worker/engine/container-places.ts'
import { root } from '../house/source-files.ts'
import { created } from './instances.ts'
import type { PlainResolver } from './plain-resolver.ts'

const hasEngine = process.env['RESOLVE_TEST_DOCKER'] === 'yes'

/** Where tests that need an engine stand; skipped as a whole where there is none. */
export const describeWithDocker = hasEngine ? describe : describe.skip

/** The image of the tests, made where it is missing: the first time this takes a minute or two. */
export function testImage(): string {
  if (!hasEngine) return 'no-engine'
  return execFileSync(process.execPath, [join(root, 'scripts', 'docker-base.mjs')], { encoding: 'utf8' }).trim()
}

/** The same with Chromium, for the validator of a reality check: made once, of Debian's packages, in one to two minutes. */
export function validatorImage(): string {
  if (!hasEngine) return 'no-engine'
  const args = [join(root, 'scripts', 'docker-base.mjs'), '--validator']
  return execFileSync(process.execPath, args, { encoding: 'utf8' }).trim()
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

/**
 * Creates an instance in a container through the platform, by the resolver's name; `setup` is what its container_setup answers. It has
 * no host when this returns: the tests of hosts start theirs.
 */
export async function createdInDocker(
  home: string,
  resolver: PlainResolver,
  input: Payload = {},
  setup: Record<string, unknown> = {},
): Promise<string> {
  // A folder of a test is private to its user; the resolver runs as another user in the container.
  chmodSync(resolver.dir, 0o755)
  const answer = join(resolver.dir, 'container-setup.json')
  // Written once: a changed file would be a reason to set up again.
  if (Object.keys(setup).length > 0 && !existsSync(answer)) writeFileSync(answer, JSON.stringify(setup))
  process.env['RESOLVE_WORKER_IMAGE'] ??= testImage()
  return await created(home, resolver, input)
}

/** Removes whatever containers and setups of a home are left, at the end of a test. */
export async function removeContainersOf(home: string): Promise<void> {
  const found = await docker('ps', '-aq', '--filter', `label=resolve.home=${homeLabel(home)}`)
  for (const id of found.split('\n').filter(Boolean)) await docker('rm', '-f', id).catch(() => undefined)
  const images = await docker('images', '-q', '--filter', `label=resolve.home=${homeLabel(home)}`)
  const ids = [...new Set(images.split('\n').filter(Boolean))]
  // One that others stand on goes only after them.
  for (const id of [...ids, ...ids]) await docker('rmi', '-f', id).catch(() => undefined)
}
