/**
 * A home with many instances, and a server that finds some of them without a host (reliability, What is promised). `RESOLVE_TEST_LIVE` sets how many are
 * live, 20 by default: 200 is what a host may look after.
 */
import { rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { workerProcesses } from '../../src/core/host/ingest/instance-files.ts'
import type { InstanceRecord } from '../../src/core/index.ts'
import { eventsOf, temporaryHome } from '../support/instances.ts'
import { checkInvariants } from '../support/invariants.ts'
import { addFixture, forEach, ScaleServer } from '../support/scale-client.ts'
import { seedHome } from '../support/seeded-home.ts'

const LIVE = Number(process.env['RESOLVE_TEST_LIVE'] ?? 20)
const ENDED = 150
const LIMIT_MS = 90_000 + LIVE * 1_000

let home: string
let seeded: string[]
let live: string[]
let server: ScaleServer

beforeAll(async () => {
  home = temporaryHome()
  seeded = await seedHome(home, ENDED)
  await addFixture(home, 'waits-in-sh')
  server = await ScaleServer.start(home)
  live = await server.createRunning('waits-in-sh', LIVE)
}, LIMIT_MS)

afterAll(async () => {
  // Where a test failed they still run.
  await server.endAll(live).catch(() => {})
  await server.stop()
  rmSync(home, { recursive: true, force: true })
}, LIMIT_MS)

async function listed(query = ''): Promise<InstanceRecord[]> {
  return (await server.ask(`/instances?limit=500${query}`)) as InstanceRecord[]
}

test('the next server adopts every worker of a killed one, and no journal lost or doubled an event', {
  timeout: LIMIT_MS,
}, async () => {
  const before = workerProcesses(home)
  expect([...before.keys()].sort()).toEqual(live.toSorted())
  await server.kill()
  server = await ScaleServer.start(home)
  await expect.poll(() => server.adoptions(), { timeout: LIMIT_MS, interval: 100 }).toBe(LIVE)
  expect(workerProcesses(home)).toEqual(before)
  const wanted = ['platform.worker.launched', 'platform.worker.adopted', 'resolver:phase']
  for (const id of live) {
    const types = () => eventsOf(home, id).map(({ event }) => event.event_type)
    // Its resolver may say so only now: it is running from before it wrote its event.
    await expect.poll(types).toContain('resolver:phase')
    const counts = wanted.map((type) => types().filter((one) => one === type).length)
    expect(counts).toEqual([1, 1, 1])
  }
})

test('a list holds each instance once, newest first; a list by status holds only that status', async () => {
  const all = await listed()
  expect(all.map((record) => record.instance_id).slice(LIVE)).toEqual(seeded.toReversed())
  expect(new Set(all.slice(0, LIVE).map((record) => record.instance_id))).toEqual(new Set(live))
  const parts = await Promise.all(
    ['running', 'completed', 'failed', 'cancelled', 'paused'].map((status) => listed(`&status=${status}`)),
  )
  expect(parts.every((part) => part.length > 0)).toBe(true)
  expect(parts.map((part) => part.length).reduce((sum, count) => sum + count)).toBe(all.length)
  expect((await listed('&status=running')).map((record) => record.instance_id).sort()).toEqual(live.toSorted())
})

test('all instances are stopped, and no process is left', { timeout: LIMIT_MS }, async () => {
  await server.endAll(live)
  expect(workerProcesses(home)).toEqual(new Map())
  const broken = await forEach(live, async (id) => checkInvariants({ home, id }))
  expect(broken.flat()).toEqual([])
  expect((await listed('&status=cancelled')).map((record) => record.instance_id)).toEqual(expect.arrayContaining(live))
  expect(await listed('&status=running')).toEqual([])
})
