/** Who looks after instances without a host: adoption at the start and later, trouble told once, and thousands that have ended. */
import { appendFileSync, linkSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { identify } from '../../src/core/files/process-identity.ts'
import { endWorkerProcesses } from '../../src/core/host/ingest/instance-files.ts'
import { startBackgroundHost } from '../../src/core/host/process/reach.ts'
import { LiveInstances, type LocalPlatform } from '../../src/core/index.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { type Owner, readOwner } from '../../src/core/store/owners.ts'
import { type Supervisor, startSupervisor } from '../../src/server/supervisor.ts'
import { created, eventsOf, ranToEnd, storyOf, temporaryHome, until } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { platformOn } from '../support/platforms.ts'

const closers: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

/** Asks once and ends with the answer; waits until it is stopped otherwise. */
const waits = () =>
  plainResolver(`const answer = await Promise.race([me.ask('q', 'Go on?'), me.stopped.then(() => null)])
    me.finish(answer === null ? { status: 'cancelled' } : { status: 'completed', output: answer.text })`)

async function ensureHost(home: string, sweepMs = 100) {
  const platform = await platformOn(home)
  const troubles: { id: string; error: unknown }[] = []
  const adopted: string[] = []
  const supervisor = startSupervisor({
    platform,
    report: new LiveInstances(home),
    sweepMs,
    onAdopted: (id) => adopted.push(id),
    onTrouble: (id, error) => troubles.push({ id, error }),
  })
  closers.push(async () => {
    await supervisor.stop()
    for (const id of platform.hosted()) await platform.stop(id, { force: true }).catch(() => {})
    for (const id of platform.hosted()) await platform.over(id)
    await platform.releaseAndClose()
    rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
  })
  return { platform, supervisor, troubles, adopted }
}

/** Created long enough ago that its creator no longer works on it. */
async function orphan(home: string): Promise<string> {
  const id = await created(home, waits())
  await startBackgroundHost(home, id)
  await until(home, id, (story) => story.status === 'awaiting_input')
  const { pid } = (readOwner(instancePaths(home, id).owners) as Owner).process
  process.kill(pid, 'SIGKILL')
  // A host that is about to die still counts.
  await expect.poll(() => identify(pid)).toBeUndefined()
  return id
}

async function answered(platform: LocalPlatform, home: string, id: string, text: string): Promise<void> {
  await platform.answer(id, 'q', { text }, { actor: 'tester', via: 'http' })
  await expect.poll(() => storyOf(home, id).status).toBe('completed')
  expect(storyOf(home, id).output).toBe(text)
}

test('instances without a host are adopted at the start; instances with one are left alone', async () => {
  const home = temporaryHome()
  const lost = await orphan(home)
  const held = await created(home, waits())
  await startBackgroundHost(home, held)
  await until(home, held, (story) => story.status === 'awaiting_input')
  const owner = readOwner(instancePaths(home, held).owners)
  const { platform, supervisor, adopted } = await ensureHost(home)
  await supervisor.ready
  expect(adopted).toEqual([lost])
  expect(platform.hosted()).toEqual([lost])
  expect(readOwner(instancePaths(home, held).owners)).toEqual(owner)
  await answered(platform, home, lost, 'after adoption')
  const seqs = eventsOf(home, lost).map(({ seq }) => seq)
  expect(seqs).toEqual(seqs.map((_, index) => index + 1))
  await answered(platform, home, held, 'by its own host')
})

test('the instance of a host that dies later is adopted within a few sweeps', async () => {
  const home = temporaryHome()
  const id = await created(home, waits())
  await startBackgroundHost(home, id)
  await until(home, id, (story) => story.status === 'awaiting_input')
  const { platform, supervisor, adopted } = await ensureHost(home)
  await supervisor.ready
  expect(adopted).toEqual([])
  process.kill(readOwner(instancePaths(home, id).owners)?.process.pid as number, 'SIGKILL')
  await expect.poll(() => platform.hosted()).toEqual([id])
  expect(supervisor.adoptions()).toBe(1)
  // A record may be a moment behind.
  await expect.poll(() => supervisor.counts()).toMatchObject({ awaiting_input: 1 })
  await answered(platform, home, id, 'ok')
})

test('a new instance is left to its creator for a moment, and adopted if no host comes', async () => {
  const home = temporaryHome()
  const id = await created(home, waits())
  const { platform, supervisor } = await ensureHost(home)
  await supervisor.ready
  expect(platform.hosted()).toEqual([])
  await expect.poll(() => platform.hosted()).toEqual([id])
})

test('an instance that cannot be read or adopted is reported once, with its reason, and does not delay others (F22)', async () => {
  const home = temporaryHome()
  const broken = await orphan(home)
  const { journal, record } = instancePaths(home, broken)
  rmSync(record)
  writeFileSync(journal, 'no journal\n')
  const planted = 'ffffffffffff'
  mkdirSync(join(instancePaths(home, planted).journal), { recursive: true })
  const good = await orphan(home)
  const { supervisor, troubles, adopted } = await ensureHost(home, 50)
  await supervisor.ready
  await expect.poll(() => adopted).toEqual([good])
  await expect.poll(() => supervisor.troubled().toSorted()).toEqual([broken, planted].toSorted())
  // Four more sweeps find nothing that is new.
  await sleep(200)
  expect(adopted).toEqual([good])
  expect(troubles.map(({ id }) => id).toSorted()).toEqual([broken, planted].toSorted())
  expect(supervisor.troubled().toSorted()).toEqual([broken, planted].toSorted())
  rmSync(instancePaths(home, planted).root, { recursive: true })
  await expect.poll(() => supervisor.troubled()).toEqual([broken])
  // No journal leads to its worker any more.
  await endWorkerProcesses(instancePaths(home, broken))
})

test('a failed adoption is tried again with growing pauses, and reported once', async () => {
  const tries: number[] = []
  const troubles: string[] = []
  const supervisor: Supervisor = startSupervisor({
    platform: {
      hosted: () => [],
      hasHost: async () => false,
      host: async () => {
        tries.push(performance.now())
        throw new Error('the disk is full')
      },
    },
    report: {
      look: async () => ({ live: [{ id: 'a'.repeat(12), status: 'running', createdAt: 0 }], counts: {}, broken: [] }),
    },
    onTrouble: (id) => troubles.push(id),
    sweepMs: 20,
  })
  await expect.poll(() => tries.length).toBe(3)
  await supervisor.stop()
  const [first = 0, second = 0, third = 0] = tries
  expect(second - first).toBeGreaterThan(1_900)
  // The next pause is twice as long.
  expect(third - second).toBeGreaterThan(3_800)
  expect(troubles).toEqual(['a'.repeat(12)])
})

test('a home that cannot be read is reported, and the supervisor goes on', async () => {
  let isBroken = true
  const troubles: string[] = []
  const supervisor = startSupervisor({
    platform: { hosted: () => [], hasHost: async () => true, host: async () => true },
    report: {
      look: async () => {
        if (isBroken) throw new Error('gone')
        return { live: [], counts: { completed: 1 }, broken: [] }
      },
    },
    onTrouble: (id) => troubles.push(id),
    sweepMs: 20,
  })
  await supervisor.ready
  await sleep(200)
  expect(troubles).toEqual([''])
  isBroken = false
  await expect.poll(() => supervisor.counts()).toEqual({ completed: 1 })
  expect(supervisor.troubled()).toEqual([])
  await supervisor.stop()
})

test('thousands of ended instances are read once; further sweeps cost almost nothing (F14)', {
  timeout: 90_000,
}, async () => {
  const home = temporaryHome()
  closers.push(async () => rmSync(home, { recursive: true, force: true }))
  const { id: model } = await ranToEnd(home, plainResolver(`me.finish({ status: 'completed' })`))
  const { record, journal } = instancePaths(home, model)
  for (let n = 0; n < 3_000; n += 1) {
    const paths = instancePaths(home, n.toString(16).padStart(12, '0'))
    mkdirSync(paths.root)
    linkSync(journal, paths.journal)
    linkSync(record, paths.record)
  }
  const report = new LiveInstances(home)
  const looks: { cpuUs: number; found: Awaited<ReturnType<typeof report.look>> }[] = []
  for (let n = 0; n < 6; n += 1) {
    const before = process.cpuUsage()
    const found = await report.look()
    const { user, system } = process.cpuUsage(before)
    looks.push({ cpuUs: user + system, found })
  }
  const [first, ...later] = looks
  expect(first?.found.counts).toEqual({ completed: 3_001 })
  for (const { found } of later) expect(found).toEqual(first?.found)
  // The cheapest of the later ones: other work of this process may fall into some.
  expect(Math.min(...later.map(({ cpuUs }) => cpuUs)) * 3).toBeLessThan(first?.cpuUs ?? 0)
})

test('a paused instance is read again only when its files change, and a resume is noticed', async () => {
  const home = temporaryHome()
  closers.push(async () => rmSync(home, { recursive: true, force: true }))
  const { id } = await ranToEnd(home, plainResolver(`me.finish({ status: 'paused' })`, { supports_resume: true }))
  const report = new LiveInstances(home)
  expect(await report.look()).toMatchObject({ live: [], counts: { paused: 1 } })
  const { journal } = instancePaths(home, id)
  const last = eventsOf(home, id).at(-1)
  const moved = { ...last?.event, data: { from: 'paused', to: 'running', reason: 'resumed' } }
  appendFileSync(journal, `${(last?.seq ?? 0) + 1}\t-\t${JSON.stringify(moved)}\n`)
  await expect.poll(async () => (await report.look()).live.map((one) => one.status)).toEqual(['running'])
})
