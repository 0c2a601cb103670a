/** `resolve instance prune`: what goes, what stays whatever is asked, and what a killed one left. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { instancesDirectory } from '../../src/core/store/home.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { doer, type Home, newHome } from './cli.ts'

let place: Home
const ids: Record<string, string> = {}

interface Pruned {
  dry_run: boolean
  count: number
  bytes: number
  removed: { instance_id: string; status: string }[]
  leftovers: { count: number }
}

beforeAll(async () => {
  place = newHome()
  expect((await place.run('resolver', 'add', doer())).code).toBe(0)
  for (const what of ['this', 'fail', 'pause', 'ask']) {
    const { stdout } = await place.run('run', 'doer', '-i', `do=${what}`, '--json')
    ids[what] = (JSON.parse(stdout) as { instance_id: string }).instance_id
  }
})

afterAll(() => place.end())

async function pruned(...args: string[]): Promise<Pruned> {
  const { stdout, stderr } = await place.run('instance', 'prune', '--json', ...args)
  expect(stdout, stderr).toContain('resolve.pruned/1')
  return JSON.parse(stdout) as Pruned
}

const kept = () => readdirSync(instancesDirectory(place.home)).toSorted()

test('prune needs -y without a terminal, and refuses a status that is not final', async () => {
  const { code, stderr } = await place.run('instance', 'prune', '--older-than', '0')
  expect(code).toBe(2)
  expect(stderr).toContain('-y')
  expect((await place.run('instance', 'prune', '-y', '--status', 'paused')).code).toBe(2)
  expect(kept().length).toBe(4)
})

test('prune keeps instances that ended a moment ago by default', async () => {
  expect(await pruned('-y')).toMatchObject({ count: 0, removed: [] })
})

test('prune --dry-run lists and removes nothing; live and paused instances are not listed', async () => {
  const told = await pruned('--older-than', '0', '--dry-run')
  expect(told.dry_run).toBe(true)
  expect(told.removed.map((one) => one.instance_id).toSorted()).toEqual([ids['this'], ids['fail']].toSorted())
  expect(kept().length).toBe(4)
})

test('prune --status removes only those statuses; running, waiting and paused instances stay and go on', async () => {
  expect((await pruned('--older-than', '0', '--status', 'failed', '-y')).removed).toMatchObject([
    { instance_id: ids['fail'], status: 'failed' },
  ])
  const { stderr } = await place.run('instance', 'prune', '--older-than', '0', '-y')
  expect(stderr).toMatch(/^Removed 1 instance, \d.* KiB\.$/m)
  expect(kept()).toEqual([ids['ask'], ids['pause']].toSorted())
  expect((await place.run('instance', 'resume', ids['pause'] ?? '')).code).toBe(0)
})

test('prune removes what a killed removal or creation left, but no creation that goes on', async () => {
  const instances = instancesDirectory(place.home)
  const longAgo = new Date(Date.now() - 2 * 3_600_000)
  for (const name of ['.removing-0123456789ab-1234', '.new-old', '.new-fresh']) {
    mkdirSync(join(instances, name, 'deep'), { recursive: true })
    writeFileSync(join(instances, name, 'deep', 'file'), 'x')
    if (name === '.new-old') utimesSync(join(instances, name), longAgo, longAgo)
  }
  expect((await pruned('--dry-run')).leftovers).toEqual({ count: 2, bytes: 2 })
  expect(existsSync(join(instances, '.new-old'))).toBe(true)
  expect((await pruned('-y')).leftovers).toEqual({ count: 2, bytes: 2 })
  expect(kept().filter((name) => name.startsWith('.'))).toEqual(['.new-fresh'])
})

test('prune removes read-only directories too', async () => {
  const { stdout } = await place.run('run', 'doer', '-i', 'do=this', '--json')
  const { instance_id } = JSON.parse(stdout) as { instance_id: string }
  const cache = join(instancesDirectory(place.home), instance_id, 'project', 'workspace', 'cache')
  mkdirSync(cache)
  writeFileSync(join(cache, 'module'), '')
  spawnSync('chmod', ['-R', 'a-w', cache])
  expect((await pruned('--older-than', '0', '-y')).removed.map((one) => one.instance_id)).toContain(instance_id)
  expect(existsSync(cache)).toBe(false)
})

// threats FS-15
test('prune removes an instance with 10,000 nested directories, and one with read-only directories, and says so', async () => {
  const behaviour = `
    const base = root + '/data'
    fs.mkdirSync(base + '/locked/in', { recursive: true })
    fs.writeFileSync(base + '/locked/in/file', 'x')
    fs.symlinkSync('/etc', base + '/locked/link')
    fs.chmodSync(base + '/locked/in', 0o500)
    fs.chmodSync(base + '/locked', 0o500)
    const before = process.cwd()
    process.chdir(base)
    for (let depth = 0; depth < 10_000; depth += 1) {
      fs.mkdirSync('nested')
      process.chdir('nested')
    }
    fs.writeFileSync('bottom', 'x')
    process.chdir(before)
    me.finish({ status: 'completed', output: 'dug' })
  `
  expect((await place.run('resolver', 'add', plainResolver(behaviour, { name: 'digger' }).dir)).code).toBe(0)
  const ran = await place.run('run', 'digger', '--json')
  const { instance_id: id } = JSON.parse(ran.stdout) as { instance_id: string }
  expect(ran.code, ran.stderr).toBe(0)
  const { removed } = await pruned('--older-than', '0', '-y')
  expect(removed.map((one) => one.instance_id)).toContain(id)
  expect(kept().filter((name) => name.includes(id))).toEqual([])
})
