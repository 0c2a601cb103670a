/** The watchdog: when it warns and when it does not, and what a real worker makes it say (spec, Limits; R17; threats FS-12; reliability F20). */
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { bytesBelow } from '../../src/core/files/disk-usage.ts'
import { Judge, startWatchdog, type Warning } from '../../src/core/host/lifecycle/watchdog.ts'
import { refuseRequests } from '../../src/core/host/process/control-socket.ts'
import { HostProcess } from '../../src/core/host/process/host-process.ts'
import { GIB } from '../../src/core/limits.ts'
import { DiskSample } from '../../src/core/worker/disk-sample.ts'
import type { Usage } from '../../src/core/worker/worker.ts'
import { created, eventsOf, temporaryHome, until } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'

const CALM: Usage = {
  pids: 10,
  memoryBytes: GIB,
  diskBytes: 0,
  diskFreeBytes: 90 * GIB,
  diskTotalBytes: 100 * GIB,
  oomKills: 0,
}

/** What is warned of, sample by sample. */
function kindsOver(samples: Partial<Usage>[]): string[][] {
  const judge = new Judge()
  return samples.map((sample) => judge.warnings({ ...CALM, ...sample }).map(({ kind }) => kind))
}

test.each<[string, keyof Usage, number, number, number, Warning]>([
  ['processes at 200', 'pids', 199, 200, 180, { kind: 'processes', value: 200, limit: 256 }],
  [
    'memory at 80 %',
    'memoryBytes',
    6.3 * GIB,
    6.4 * GIB,
    5.8 * GIB,
    { kind: 'memory', value: 6.4 * GIB, limit: 8 * GIB },
  ],
  ['disk at 80 %', 'diskBytes', 3.9 * GIB, 4 * GIB, 3.6 * GIB, { kind: 'disk', value: 4 * GIB, limit: 5 * GIB }],
])('the watchdog warns of %s once, and again after the value was well below', (_, field, under, at, near, warning) => {
  const judge = new Judge()
  const say = (value: number) => judge.warnings({ ...CALM, [field]: value })
  expect(say(under)).toEqual([])
  expect(say(at)).toEqual([warning])
  expect(say(at + 1)).toEqual([])
  // Just below and over again is the same crossing.
  expect(say(near)).toEqual([])
  expect(say(at)).toEqual([])
  expect(say(0)).toEqual([])
  expect(say(at)).toEqual([warning])
})

test('the watchdog warns when less than 2 GiB or 5 % of the disk is left, whichever is more', () => {
  const judge = new Judge()
  expect(judge.warnings({ ...CALM, diskFreeBytes: 5 * GIB - 1 })).toEqual([
    { kind: 'disk_floor', value: 5 * GIB - 1, limit: 5 * GIB },
  ])
  expect(judge.warnings({ ...CALM, diskFreeBytes: GIB })).toEqual([])
  const small = new Judge()
  expect(small.warnings({ ...CALM, diskTotalBytes: 10 * GIB, diskFreeBytes: 2.1 * GIB })).toEqual([])
  expect(small.warnings({ ...CALM, diskTotalBytes: 10 * GIB, diskFreeBytes: 1.9 * GIB })).toMatchObject([
    { kind: 'disk_floor', limit: 2 * GIB },
  ])
})

test('each child that the kernel ended for lack of memory causes a warning, several at once cause one', () => {
  expect(kindsOver([{ oomKills: 0 }, { oomKills: 1 }, { oomKills: 1 }, { oomKills: 4 }])).toEqual([
    [],
    ['oom'],
    [],
    ['oom'],
  ])
})

test('a value below its limit is not reported with one that is over it', () => {
  expect(
    kindsOver([
      { pids: 250, memoryBytes: 7 * GIB },
      { pids: 250, memoryBytes: GIB },
    ]),
  ).toEqual([['processes', 'memory'], []])
})

test('a worker whose usage cannot be read is measured again later; a stop ends the watchdog', async () => {
  const told: Warning[] = []
  let asked = 0
  const stop = startWatchdog({
    usage: async () => {
      asked += 1
      if (asked === 1) throw new Error('the engine is away')
      return asked === 2 ? undefined : { ...CALM, pids: 300 }
    },
    warn: (warning) => told.push(warning),
    periodMs: 5,
  })
  while (told.length === 0) await sleep(5)
  stop()
  const before = asked
  await sleep(50)
  expect(asked).toBeLessThanOrEqual(before + 1)
  expect(told).toEqual([{ kind: 'processes', value: 300, limit: 256 }])
})

test('a directory is measured with its subdirectories, without following links, within a time limit', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'resolve-du-'))
  mkdirSync(join(directory, 'a/b'), { recursive: true })
  for (const name of ['one', 'a/two', 'a/b/three']) writeFileSync(join(directory, name), Buffer.alloc(1_000_000))
  symlinkSync('/usr', join(directory, 'a/usr'))
  symlinkSync('..', join(directory, 'a/b/round'))
  const bytes = await bytesBelow(directory, 1_000)
  expect(bytes).toBeGreaterThanOrEqual(3_000_000)
  expect(bytes).toBeLessThan(3_200_000)
  expect(await bytesBelow(directory, 2)).toBeLessThan(1_100_000)
  expect(await bytesBelow(join(directory, 'nothing'), 10)).toBe(0)
})

test('the directory is measured now and then, the free space each time', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'resolve-du-'))
  const sample = new DiskSample(directory, 60_000)
  const first = await sample.sample()
  writeFileSync(join(directory, 'big'), Buffer.alloc(1_000_000))
  expect((await sample.sample()).diskBytes).toBe(first.diskBytes)
  expect((await new DiskSample(directory, 0).sample()).diskBytes).toBeGreaterThan(900_000)
  expect(first.diskTotalBytes).toBeGreaterThan(first.diskFreeBytes)
})

// verifies: S-LIM-03
test('a worker with more than 200 processes causes one warning in its journal, and its run goes on', async () => {
  const home = temporaryHome()
  const resolver = plainResolver(`
    const { spawn } = await import('node:child_process')
    const all = Array.from({ length: 200 }, () => spawn('sleep', ['60']))
    while (!me.messages.length) await sleep(20)
    for (const one of all) one.kill(); me.finish({ status: 'completed' })`)
  const id = await created(home, resolver)
  const hosts = new HostProcess(home, refuseRequests, { watchdogMs: 100 })
  await hosts.own(id)
  const warnings = () => eventsOf(home, id).filter(({ event }) => event.event_type === 'platform.watchdog.warning')
  await until(home, id, () => warnings().length > 0)
  // Three more looks bring no second warning.
  await sleep(300)
  await hosts.get(id)?.message('note', { text: 'enough' }, { actor: 'tester', via: 'cli' })
  await hosts.over(id)
  await hosts.close()
  const all = warnings().map(({ event }) => event.data)
  expect(all).toEqual([{ kind: 'processes', value: expect.any(Number), limit: 256 }])
  expect(all[0]?.['value']).toBeGreaterThanOrEqual(200)
}, 60_000)

test('the usage of a worker counts its threads and its private memory', async () => {
  const home = temporaryHome()
  const resolver = plainResolver(
    `globalThis.held = Buffer.alloc(200_000_000, 1); me.emit('plain.ready'); await me.stopped; me.finish({ status: 'cancelled' })`,
  )
  const id = await created(home, resolver)
  const hosts = new HostProcess(home)
  await hosts.own(id)
  await until(home, id, (story) => story.lastSeq >= 5)
  const { instancePaths } = await import('../../src/core/store/home.ts')
  const { LocalDriver } = await import('../../src/core/worker/local/local.ts')
  const driver = new LocalDriver(instancePaths(home, id))
  const coordination = driver.openCoordination()
  const worker = await driver.adopt(coordination, 1)
  const usage = (await worker?.usage?.()) as Usage
  worker?.release()
  coordination.close()
  hosts.get(id)?.stop('stop', 'enough', false)
  await hosts.over(id)
  await hosts.close()
  expect(usage.pids).toBeGreaterThan(1)
  expect(usage.pids).toBeLessThan(100)
  expect(usage.memoryBytes).toBeGreaterThan(200_000_000)
  expect(usage.memoryBytes).toBeLessThan(1_000_000_000)
})
