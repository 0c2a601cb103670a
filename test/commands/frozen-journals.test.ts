/** Damaged journals: what a host that is killed while it replaces one leaves, and how the next one goes on (reliability F34; on-disk, The journal). */
import { linkSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { InstanceRecord } from '../../src/core/index.ts'
import { type InstancePaths, instancePaths } from '../../src/core/store/home.ts'
import { readOwner } from '../../src/core/store/owners.ts'
import { storyOf, until } from '../support/instances.ts'
import { doer, type Home, newHome } from './cli.ts'
import { type ServeProcess, spawnServe, startServe } from './serving.ts'

let place: Home
let server: ServeProcess | undefined

beforeEach(async () => {
  place = newHome()
  expect((await place.run('resolver', 'add', doer())).code).toBe(0)
})

afterEach(async () => {
  server?.kill('SIGKILL')
  await server?.ended
  server = undefined
  await place.end()
})

/** Asks a question; its server is killed, and the last line of its journal is damaged without a change of its size: its record stays current. */
async function damaged(): Promise<{ id: string; paths: InstancePaths; whole: string }> {
  const first = await startServe(place.home, ['--no-ui'])
  const { stdout } = await place.run('run', 'doer', '-i', 'do=ask', '--detach', '--json')
  const id = (JSON.parse(stdout) as InstanceRecord).instance_id
  const paths = instancePaths(place.home, id)
  await until(place.home, id, ({ status }) => status === 'awaiting_input')
  await expect
    .poll(() => (JSON.parse(readFileSync(paths.record, 'utf8')) as { journal_bytes: number }).journal_bytes)
    .toBe(statSync(paths.journal).size)
  first.kill('SIGKILL')
  await first.ended
  const host = readOwner(paths.owners)?.process.pid
  if (host !== undefined && host !== first.pid) await killed(host)
  const whole = readFileSync(paths.journal, 'utf8')
  const at = whole.lastIndexOf('{"schema_version"')
  writeFileSync(paths.journal, `${whole.slice(0, at)}!${whole.slice(at + 1)}`)
  return { id, paths, whole }
}

async function killed(pid: number): Promise<void> {
  process.kill(pid, 'SIGKILL')
  const isGone = () => {
    try {
      return / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
    } catch {
      return true
    }
  }
  while (!isGone()) await new Promise((resolve) => setTimeout(resolve, 20))
}

async function goesOn(id: string): Promise<void> {
  server = await startServe(place.home, ['--no-ui'])
  // Until its host has replaced the journal, reading it fails.
  await expect.poll(() => isAsking(id), { timeout: 30_000 }).toBe(true)
  const answered = await place.run('instance', 'answer', id, '-i', 'why=because')
  expect(answered.code, answered.stderr).toBe(0)
  await until(place.home, id, ({ status }) => status === 'completed')
}

function isAsking(id: string): boolean {
  try {
    return storyOf(place.home, id).status === 'awaiting_input'
  } catch {
    return false
  }
}

async function listed(): Promise<string[]> {
  const { stdout } = await place.run('instance', 'list', '--all', '--json')
  return (JSON.parse(stdout) as { instances: InstanceRecord[] }).instances.map(({ instance_id }) => instance_id)
}

const namesIn = ({ root }: InstancePaths) => readdirSync(root).filter((name) => name.startsWith('journal'))

test('a host killed between both steps of replacing a damaged journal loses nothing; one damaged file is kept', {
  timeout: 60_000,
}, async () => {
  const { id, paths } = await damaged()
  const broken = readFileSync(paths.journal, 'utf8')
  const second = spawnServe(place.home, ['--no-ui', '--port', '0'], { RESOLVE_FAILPOINTS: 'journal.frozen=kill' })
  expect(await second.ended, second.stderr()).toBe('SIGKILL')
  // What a reader finds is the journal, without any repair.
  expect(namesIn(paths)).toContain('journal')
  expect(await listed()).toEqual([id])
  await goesOn(id)
  const names = namesIn(paths)
  expect(names.map((name) => name.replace(/\d+$/, 'TIME')).toSorted()).toEqual(['journal', 'journal.frozen-TIME'])
  const kept = names.find((name) => name !== 'journal') as string
  expect(readFileSync(`${paths.root}/${kept}`, 'utf8')).toBe(broken)
})

test('an instance whose record is older than its damaged journal is adopted all the same; one that had ended is not (F35)', {
  timeout: 60_000,
}, async () => {
  const { id, paths } = await damaged()
  const stale = JSON.parse(readFileSync(paths.record, 'utf8')) as { journal_bytes: number }
  writeFileSync(paths.record, JSON.stringify({ ...stale, journal_bytes: stale.journal_bytes - 7 }))
  expect((await place.run('instance', 'show', id)).stderr).toContain("Can't read the journal")
  const ended = JSON.parse((await place.run('run', 'doer', '-i', 'do=work', '--json')).stdout) as InstanceRecord
  const other = instancePaths(place.home, ended.instance_id)
  writeFileSync(other.journal, readFileSync(other.journal, 'utf8').replace('{"schema_version"', '!'))
  await goesOn(id)
  expect(server?.stderr()).toContain(`${id} can't be read and is put aside`)
  expect(server?.stderr()).toContain(`${id} had no host: adopted.`)
  await server?.said(`${ended.instance_id} can't be read and is put aside`)
  expect(namesIn(other)).toEqual(['journal'])
})

test('where an earlier version was killed between both renames, the next reader completes the move', {
  timeout: 60_000,
}, async () => {
  const { id, paths, whole } = await damaged()
  renameSync(paths.journal, `${paths.journal}.frozen-1`)
  writeFileSync(`${paths.journal}.new`, whole, { mode: 0o600 })
  rmSync(paths.record, { force: true })
  expect(await listed()).toEqual([id])
  expect(namesIn(paths).toSorted()).toEqual(['journal', 'journal.frozen-1'])
  await goesOn(id)
})

test('an unfinished copy beside a damaged journal is made anew, also where it is the same file as the journal', {
  timeout: 60_000,
}, async () => {
  const { id, paths } = await damaged()
  linkSync(paths.journal, `${paths.journal}.new`)
  await goesOn(id)
})
