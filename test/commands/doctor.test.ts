/** `resolve doctor`: each thing that can be wrong is made wrong, told with the command that mends it, and mended where that is safe. */
import { spawn } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { HealthRow } from '../../src/core/platform/platform.ts'
import { diskRow } from '../../src/core/platform/upkeep/health.ts'
import { instancePaths, instancesDirectory } from '../../src/core/store/home.ts'
import { readOwner } from '../../src/core/store/owners.ts'
import { doer, type Home, newHome } from './cli.ts'

let place: Home

beforeEach(() => {
  place = newHome()
})

afterEach(() => place.end())

/** The rows of one check. This machine's disk may be as full as it likes. */
async function rows(check: string, ...args: string[]): Promise<HealthRow[]> {
  const { code, stdout, stderr } = await place.run('doctor', '--json', ...args)
  expect(stdout, stderr).not.toBe('')
  const document = JSON.parse(stdout) as { schema: string; exit_code: number; checks: HealthRow[] }
  expect(document.schema).toBe('resolve.doctor/1')
  const hasFailed = document.checks.some(({ state }) => state === 'failed')
  expect([code, document.exit_code]).toEqual(hasFailed ? [1, 1] : [0, 0])
  for (const { state, mend } of document.checks) if (state === 'failed') expect(mend).not.toBeNull()
  return document.checks.filter((row) => row.check === check)
}

async function made(what: string, ...args: string[]): Promise<string> {
  const { stdout } = await place.run('run', 'doer', '-i', `do=${what}`, ...args)
  return stdout.trim()
}

test('in a healthy home every check is one line, and only the disk may fail', async () => {
  const { stdout } = await place.run('doctor')
  const lines = stdout
    .trimEnd()
    .split('\n')
    .filter((line) => !/ disk |prune/.test(line))
  expect(lines.filter((line) => line.startsWith('✗'))).toEqual([])
  const checks = lines.map((line) => line.split(/\s+/)[1])
  for (const check of [
    'node',
    'git',
    'mkfifo',
    'forge',
    'sockets',
    'docker',
    'home',
    'modes',
    'catalog',
    'resolver',
    'journals',
    'hosts',
    'orphans',
    'leftovers',
  ])
    expect(checks).toContain(check)
})

test('the floor of the disk is 2 GiB, or a twentieth of a large one', () => {
  const gib = 1024 ** 3
  expect(diskRow({ free: 3 * gib, total: 20 * gib }).state).toBe('ok')
  expect(diskRow({ free: 1.9 * gib, total: 20 * gib })).toMatchObject({
    state: 'failed',
    mend: expect.stringContaining('prune'),
  })
  expect(diskRow({ free: 40 * gib, total: 1000 * gib }).state).toBe('failed')
})

test('a home that others can read is reported, and made private by --fix', async () => {
  await place.run('instance', 'list')
  chmodSync(place.home, 0o755)
  expect(await rows('modes')).toMatchObject([{ state: 'failed', mend: `chmod 700 ${place.home}` }])
  expect(await rows('modes', '--fix')).toMatchObject([{ state: 'mended' }])
  expect((statSync(place.home).mode & 0o777).toString(8)).toBe('700')
  expect(await rows('modes')).toMatchObject([{ state: 'ok' }])
})

test('a home that cannot be created is reported with the variable that names another', async () => {
  const { code, stdout } = await place.with({ env: { RESOLVE_HOME: '/dev/null/home' } }, 'doctor', '--json')
  expect(code).toBe(1)
  const { checks } = JSON.parse(stdout) as { checks: HealthRow[] }
  expect(checks.find(({ check }) => check === 'home')).toMatchObject({
    state: 'failed',
    mend: expect.stringContaining('RESOLVE_HOME'),
  })
})

test('a broken catalog and a resolver whose folder is gone are reported', async () => {
  const folder = doer()
  await place.run('resolver', 'add', folder)
  rmSync(folder, { recursive: true })
  expect(await rows('resolver')).toMatchObject([{ state: 'failed', mend: 'resolve resolver remove doer' }])
  const file = join(place.home, 'resolvers.json')
  writeFileSync(file, '{ broken')
  expect(await rows('catalog')).toMatchObject([{ state: 'failed', mend: `mv ${file} ${file}.broken` }])
})

test('missing programs are reported with the command that installs them', async () => {
  const bare = mkdtempSync(join(tmpdir(), 'resolve-bare-'))
  const { code, stdout } = await place.with({ env: { PATH: bare } }, 'doctor', '--json')
  expect(code).toBe(1)
  const { checks } = JSON.parse(stdout) as { checks: HealthRow[] }
  const failed = checks.filter(({ state }) => state === 'failed').map(({ check }) => check)
  expect(failed).toEqual(expect.arrayContaining(['git', 'mkfifo']))
  rmSync(bare, { recursive: true })
})

test('a Docker engine is reported with its version, a missing one is a note', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'resolve-docker-'))
  const socket = join(folder, 'docker.sock')
  const engine = createServer((_, response) => response.setHeader('api-version', '1.47').end('OK')).listen(socket)
  const ask = async () => {
    const { stdout } = await place.with({ env: { DOCKER_HOST: `unix://${socket}` } }, 'doctor', '--json')
    return (JSON.parse(stdout) as { checks: HealthRow[] }).checks.find(({ check }) => check === 'docker')
  }
  expect(await ask()).toMatchObject({ state: 'ok', message: expect.stringContaining('1.47') })
  engine.close()
  rmSync(folder, { recursive: true })
  expect(await ask()).toMatchObject({ state: 'note' })
})

test('an instance whose host died is reported with the command that adopts it; --fix adopts it', async () => {
  await place.run('resolver', 'add', doer())
  const id = await made('sleep', '--detach')
  expect(await rows('hosts')).toMatchObject([{ state: 'ok' }])
  process.kill(readOwner(instancePaths(place.home, id).owners)?.process.pid ?? 0, 'SIGKILL')
  await expect
    .poll(async () => await rows('hosts'))
    .toMatchObject([{ state: 'failed', mend: `resolve instance watch ${id}` }])
  expect(await rows('hosts', '--fix')).toMatchObject([{ state: 'mended' }])
  expect(await rows('hosts')).toMatchObject([{ state: 'ok' }])
  expect((await place.run('instance', 'stop', id)).code).toBe(0)
})

test('a process that outlived its instance is reported, and ended by --fix', async () => {
  await place.run('resolver', 'add', doer())
  await made('this')
  const { stdout } = await place.run('instance', 'list', '--json')
  const [record] = (JSON.parse(stdout) as { instances: { instance_id: string }[] }).instances
  const mark = join(instancePaths(place.home, record?.instance_id ?? '').project, '.resolve')
  const orphan = spawn('sleep', ['60'], { env: { ...process.env, RESOLVE_DIR: mark }, stdio: 'ignore' })
  const ended = new Promise((resolve) => orphan.once('exit', resolve))
  try {
    expect(await rows('orphans')).toMatchObject([{ state: 'failed', mend: `kill -9 ${orphan.pid}` }])
    expect(await rows('orphans', '--fix')).toMatchObject([{ state: 'mended' }])
    await ended
  } finally {
    orphan.kill('SIGKILL')
  }
  expect(await rows('orphans')).toMatchObject([{ state: 'ok' }])
})

test('a journal without a creation record, one with a gap and a frozen one are reported', async () => {
  await place.run('resolver', 'add', doer())
  for (const name of ['creation', 'gap', 'frozen']) await made('this', '--name', name)
  const { stdout } = await place.run('instance', 'list', '--json')
  const { instances } = JSON.parse(stdout) as { instances: { instance_id: string; name: string }[] }
  const paths = (name: string) =>
    instancePaths(place.home, instances.find((one) => one.name === name)?.instance_id ?? '')
  writeFileSync(paths('creation').journal, 'no creation\n')
  appendFileSync(paths('gap').journal, '999\t-\t{"event_type":"x","data":{}}\n')
  writeFileSync(`${paths('frozen').journal}.frozen-1`, '')
  const told = await rows('journals')
  expect(told.map(({ mend }) => mend?.split(' ')[0]).toSorted()).toEqual(['mv', 'mv', 'rm'])
  for (const { mend } of told) await run(mend ?? '')
  expect(await rows('journals')).toMatchObject([{ state: 'ok' }])
})

test('half-made directories are reported, and removed by --fix; planted links are not followed', async () => {
  await place.run('instance', 'list')
  const draft = join(instancesDirectory(place.home), '.new-old')
  const elsewhere = mkdtempSync(join(tmpdir(), 'resolve-elsewhere-'))
  writeFileSync(join(elsewhere, 'kept'), '')
  mkdirSync(draft)
  symlinkSync(elsewhere, join(draft, 'link'))
  const longAgo = new Date(Date.now() - 2 * 3_600_000)
  utimesSync(draft, longAgo, longAgo)
  expect(await rows('leftovers')).toMatchObject([{ state: 'failed', mend: 'resolve doctor --fix' }])
  expect(await rows('leftovers', '--fix')).toMatchObject([{ state: 'mended' }])
  expect(await rows('leftovers')).toMatchObject([{ state: 'ok' }])
  expect(statSync(join(elsewhere, 'kept')).isFile()).toBe(true)
  rmSync(elsewhere, { recursive: true })
})

/** A command that was printed, given to a shell as a person would. */
function run(command: string): Promise<number | null> {
  return new Promise((resolve) => spawn('sh', ['-c', command], { stdio: 'ignore' }).once('exit', resolve))
}
