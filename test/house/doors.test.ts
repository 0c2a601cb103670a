/** Holds the doors of the tests: instances are made and run by the platform, as users do it; each exception has its reason. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './source-files.ts'

/** Files that make an instance, or write its journal, past the platform. */
const MAKERS = ['store/create-instance.ts', 'store/journal-writer.ts', 'store/journal-line.ts']
/** Files that run one past the platform. */
const HOSTS = ['host/process/host-process.ts', 'host/lifecycle/instance-host.ts']

const makersAllowed: Record<string, string> = {
  'test/store/journal.test.ts': 'tests the journal itself',
  'test/store/record.test.ts': 'adds the line that a killed host has written and its record does not have',
  'test/platform/journal-cache.test.ts': 'a journal of 20,000 lines, and one that is replaced while it is read',
  'test/platform/export-turns.test.ts': 'a journal of 70 MB, which a resolver would take long to write',
  'test/platform/journal-feed.test.ts': 'a journal that goes on in another file',
  'test/support/event-stream.ts': 'a journal that grows line by line, and stops in the middle of one, as a test says',
  'test/support/seeded-home.ts': 'homes with thousands of instances: a resolver started for each would take hours',
  'test/model/instance-world.ts': 'thousands of random lives a run, with a worker in memory: no program could be asked',
}

const hostsAllowed: Record<string, string> = {
  'test/host/':
    'tests of this room: they hold its process, and end it where a host may die. The instances come from the platform',
  'test/docker/egress.test.ts': 'addresses of the test itself are reachable for the worker, which no platform allows',
  'test/docker/sandbox.test.ts': 'the same',
  'test/docker/watchdog.test.ts': 'a watchdog that looks every 200 ms',
  'test/model/instance-world.ts': 'a worker in memory, and hosts that are killed within one process',
}

const files = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((path) => /\.(?:ts|tsx|mjs)$/.test(path) && !path.startsWith('house/') && !path.includes('node_modules'))
  .map((path) => ({ path: `test/${path}`, text: readFileSync(join(root, 'test', path), 'utf8') }))

/** Also imports within a function, or within the text of a program that a test starts. */
function importersOf(modules: readonly string[]): string[] {
  const importers = files.filter(({ text }) => modules.some((module) => text.includes(`core/${module}`)))
  return importers.map(({ path }) => path).toSorted()
}

const unexplained = (paths: readonly string[], allowed: Record<string, string>) =>
  paths.filter((path) => !Object.keys(allowed).some((place) => path.startsWith(place)))
const unused = (paths: readonly string[], allowed: Record<string, string>) =>
  Object.keys(allowed).filter((place) => !paths.some((path) => path.startsWith(place)))

test.each([
  ['make instances', MAKERS, makersAllowed],
  ['host instances', HOSTS, hostsAllowed],
])('tests %s through the platform, but for the exceptions of the list', (_, modules, allowed) => {
  const importers = importersOf(modules)
  expect(importers.length).toBeGreaterThan(0)
  expect(unexplained(importers, allowed)).toEqual([])
  expect(unused(importers, allowed)).toEqual([])
})

test('a test that goes past the platform is noticed, and so is an exception without a test', () => {
  expect(unexplained(['test/server/new.test.ts'], makersAllowed)).toEqual(['test/server/new.test.ts'])
  expect(unused(['test/store/journal.test.ts'], { 'test/store/journal.test.ts': 'a', 'test/gone.ts': 'b' })).toEqual([
    'test/gone.ts',
  ])
})
