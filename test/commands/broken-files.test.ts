/** Files of the home whose place another kind of file has taken: the message says what is there, and no code of ours as the system's answer. */
import { mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Home, newHome } from './cli.ts'

let place: Home
beforeEach(() => {
  place = newHome()
})
afterEach(async () => {
  await place.end()
})

test.each([
  ['secrets.json', ['secret', 'list'], 'it is not a file of secrets'],
  ['notify.json', ['notify', 'list'], 'it is not a file of targets'],
  ['schedules.json', ['schedule', 'list'], 'it is not a regular file'],
] as const)('a directory in the place of %s is told as what it is', async (file, command, reason) => {
  const path = join(place.home, file)
  mkdirSync(path, { recursive: true })
  const listed = await place.run(...command)
  expect(listed.stderr).toContain(reason)
  expect(listed.stderr).not.toMatch(/_broken|system answered/)
  rmSync(path, { recursive: true })
  writeFileSync(path, '')
  truncateSync(path, 64 * 1024 * 1024)
  const large = await place.run(...command)
  expect(large.code).not.toBe(0)
  expect(large.stderr).not.toMatch(/_broken|system answered/)
  rmSync(path)
  symlinkSync('/etc/hostname', path)
  expect((await place.run(...command)).stderr).toMatch(/link|ELOOP/)
})

test('a directory in the place of the key file is told as what it is', async () => {
  const key = join(place.home, 'key')
  mkdirSync(key, { recursive: true })
  const env = { RESOLVE_SECRET_KEY_FILE: key }
  const set = await place.with({ env, stdin: 'a-value-of-a-test' }, 'secret', 'set', 'TOKEN')
  expect(set.stderr).toContain('it is not a key file')
  expect(set.stderr).not.toMatch(/secret_key_unusable|system answered/)
})
