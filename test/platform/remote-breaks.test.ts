/** Connections that break at any byte, servers that die: events come exactly once, an act has one effect, and a loss is told as one. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Connection, Platform } from '../../src/core/platform/platform.ts'
import { openRemotePlatform } from '../../src/core/platform/remote/remote.ts'
import type { JournalEvent } from '../../src/core/protocol/journal.ts'
import { hostGuard } from '../../src/server/access/guard.ts'
import { awaitStatus } from '../../src/terminal/command/await-status.ts'
import { type CuttingProxy, cuttingProxy, seeded } from '../support/cutting-proxy.ts'
import { homeWith, type Served, serve } from '../support/served.ts'

vi.setConfig({ testTimeout: 120_000 })

const ACTOR = { actor: 'tester', via: 'cli' } as const

let home: string
let served: Served
let proxy: CuttingProxy
let token: string

beforeAll(async () => {
  home = await homeWith(['many-events', 'asks-once'])
  // The proxy's own address is what requests name.
  served = await serve(home, 0, () => hostGuard({ allowedHosts: ['127.0.0.1'] }))
  proxy = await cuttingProxy(served.port)
  token = await served.token()
})

const killed: (() => Promise<void>)[] = []

afterAll(async () => {
  for (const kill of killed) await kill()
  await proxy.close()
  await served.close()
})

async function collect(events: AsyncIterable<JournalEvent>, all: JournalEvent[] = []): Promise<JournalEvent[]> {
  for await (const event of events) all.push(event)
  return all
}

async function reaches(platform: Platform, id: string, status: string): Promise<void> {
  const story = await awaitStatus(platform, id, (one) => one.status === status, AbortSignal.timeout(60_000))
  expect(story.status).toBe(status)
}

// verifies: S-EVT-01
test('events come exactly once and in order through a network that cuts at random bytes (R15)', async () => {
  const random = seeded(7)
  const remote = openRemotePlatform({ url: proxy.url, token })
  const input = { count: '600', batch: '20', pause_ms: '60' }
  const { instance_id: id } = await remote.create({ resolver: 'many-events', input })
  await remote.close()
  proxy.cuts = 0
  proxy.budget = () => Math.floor(random() * 15_000)
  const cut = openRemotePlatform({ url: proxy.url, token })
  try {
    const live = await collect(cut.events(id, { follow: true }))
    const journal = await collect(served.platform.events(id))
    expect(live.map(({ seq, text }) => ({ seq, text }))).toEqual(journal.map(({ seq, text }) => ({ seq, text })))
    expect(live.length).toBeGreaterThan(600)
    expect(proxy.cuts).toBeGreaterThan(5)
    const before = proxy.cuts
    const replayed = await collect(cut.events(id, { after: 100 }))
    expect(replayed.map(({ seq }) => seq)).toEqual(journal.slice(100).map(({ seq }) => seq))
    expect(proxy.cuts).toBeGreaterThan(before)
  } finally {
    proxy.budget = undefined
    await cut.close()
  }
})

// verifies: R11
test('a call whose request or answer is cut at a random byte is sent again and has one effect (R11, R25)', async () => {
  const random = seeded(11)
  const remote = openRemotePlatform({ url: proxy.url, token })
  const before = (await remote.list({ resolver: 'asks-once' })).records.length
  const ids: string[] = []
  for (let n = 0; n < 12; n += 1) {
    proxy.cutOnce(n % 3 === 0 ? 'up' : 'down', Math.floor(random() * (n % 3 === 0 ? 300 : 900)))
    ids.push((await remote.create({ resolver: 'asks-once', input: {}, name: `n${n}` })).instance_id)
  }
  expect(new Set(ids).size).toBe(12)
  expect((await remote.list({ resolver: 'asks-once' })).records).toHaveLength(before + 12)
  for (const [n, id] of ids.entries()) {
    await reaches(remote, id, 'awaiting_input')
    proxy.cutOnce('down', Math.floor(random() * 200))
    if (n % 3 === 0) await remote.cancel(id)
    else if (n % 3 === 1) await remote.stop(id, { force: true })
    else await remote.answer(id, 'name', { name: 'Ada' }, ACTOR)
    await reaches(remote, id, n % 3 === 2 ? 'completed' : 'cancelled')
  }
  await remote.close()
})

test('a file or an archive that is cut is an error, and never taken as complete', async () => {
  const remote = openRemotePlatform({ url: proxy.url, token })
  const { instance_id: id } = await remote.create({ resolver: 'many-events', input: { count: '3000' } })
  await reaches(remote, id, 'completed')
  const archive = await remote.export(id)
  // Its beginning is here; what is left of it is cut.
  proxy.cutOnce('down', 10)
  const whole = async () => {
    for await (const _ of archive) await sleep(1)
  }
  await expect(whole()).rejects.toMatchObject({ code: 'server_unreachable', exitCode: 10 })
  await remote.close()
})

test('a server that is replaced meanwhile is found again, by a call and by a stream', async () => {
  const first = await serve(home)
  const remote = openRemotePlatform({ url: first.url, token })
  const input = { count: '100', batch: '2', pause_ms: '60' }
  const { instance_id: id } = await remote.create({ resolver: 'many-events', input })
  const events = remote.events(id, { follow: true })
  const begun = Promise.withResolvers<void>()
  const counted = async function* () {
    for await (const event of events) {
      if (event.seq === 10) begun.resolve()
      yield event
    }
  }
  const following = collect(counted())
  await begun.promise
  await first.close()
  const creating = remote.create({ resolver: 'many-events', input: { count: '1' } })
  const second = await serve(home, first.port)
  await reaches(remote, (await creating).instance_id, 'completed')
  const seen = await following
  expect(seen.map(({ seq }) => seq)).toEqual(seen.map((_, index) => index + 1))
  expect(seen.at(-1)?.event).toMatchObject({ data: { to: 'completed' } })
  await remote.close()
  await second.close()
})

async function serverProcess(port: number) {
  const program = join(import.meta.dirname, '../support/serve-program.ts')
  const child = spawn(process.execPath, [program, home, String(port)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  const { url, port: taken, token: own } = JSON.parse(line) as { url: string; port: number; token: string }
  const ended = once(child, 'exit')
  const kill = async () => {
    child.kill('SIGKILL')
    await ended
  }
  killed.push(kill)
  return { url, port: taken, token: own, kill }
}

test('a stream loses no event when its server is killed and started again (R42)', async () => {
  const first = await serverProcess(0)
  const remote = openRemotePlatform({ url: first.url, token: first.token })
  const input = { count: '300', batch: '2', pause_ms: '40' }
  const { instance_id: id } = await remote.create({ resolver: 'many-events', input })
  const seen: JournalEvent[] = []
  for await (const event of remote.events(id, { follow: true })) {
    seen.push(event)
    if (seen.length !== 60) continue
    await first.kill()
    await serverProcess(first.port)
  }
  const journal = await collect(served.platform.events(id))
  expect(seen.map(({ seq, text }) => ({ seq, text }))).toEqual(journal.map(({ seq, text }) => ({ seq, text })))
  const numbers = seen.filter(({ event }) => event.event_type === 'many-events.numbered')
  expect(numbers.map(({ event }) => event.data['number'])).toEqual(numbers.map((_, index) => index + 1))
  expect(numbers).toHaveLength(300)
  expect(seen.at(-1)?.event).toMatchObject({ data: { to: 'completed' } })
  await remote.close()
})

test('a stream that cannot be continued fails with exit code 10, and never ends as if it were complete', async () => {
  const gone = await serve(home)
  const remote = openRemotePlatform({ url: gone.url, token, waitLimitMs: 1_000 })
  const { instance_id: id } = await remote.create({ resolver: 'asks-once', input: {} })
  await reaches(remote, id, 'awaiting_input')
  const seen: JournalEvent[] = []
  const following = collect(remote.events(id, { follow: true }), seen)
  const outcome = expect(following).rejects.toMatchObject({ code: 'server_unreachable', exitCode: 10 })
  await expect.poll(() => seen.length).toBeGreaterThan(0)
  await gone.close()
  await outcome
  await expect(remote.record(id)).rejects.toMatchObject({ code: 'server_unreachable', exitCode: 10 })
  await remote.close()
  await served.platform.cancel(id)
  await reaches(served.platform, id, 'cancelled')
})

test('a reader that stops ends the stream at once, without an error', async () => {
  const remote = openRemotePlatform({ url: served.url, token })
  const { instance_id: id } = await remote.create({ resolver: 'asks-once', input: {} })
  await reaches(remote, id, 'awaiting_input')
  const began = Date.now()
  await collect(remote.events(id, { follow: true, signal: AbortSignal.timeout(300) }))
  expect(Date.now() - began).toBeLessThan(5_000)
  await remote.cancel(id)
  await reaches(remote, id, 'cancelled')
  await remote.close()
})

test('a follower is notified when the connection is lost and when it is back, but not of a short cut', async () => {
  const first = await serve(home)
  const remote = openRemotePlatform({ url: first.url, token })
  const { instance_id: id } = await remote.create({ resolver: 'asks-once', input: {} })
  await reaches(remote, id, 'awaiting_input')
  const told: Connection[] = []
  const seen: JournalEvent[] = []
  const following = collect(remote.events(id, { follow: true, onConnection: (one) => told.push(one) }), seen)
  await expect.poll(() => seen.length).toBeGreaterThan(0)
  const gone = Date.now()
  await first.close()
  await expect.poll(() => told.length).toBe(1)
  const second = await serve(home, first.port)
  await expect.poll(() => told.length).toBe(2)
  expect(told).toMatchObject([{ state: 'lost' }, { state: 'back' }])
  const [lost, back] = told as [Extract<Connection, { state: 'lost' }>, Connection]
  expect(back.since).toBe(lost.since)
  expect(lost.since).toBeGreaterThanOrEqual(gone)
  expect(lost.givesUpAt - lost.since).toBe(60_000)
  await remote.answer(id, 'name', { name: 'Ada' }, ACTOR)
  await following
  await remote.close()
  await second.close()

  const through = openRemotePlatform({ url: proxy.url, token })
  const { instance_id: other } = await through.create({
    resolver: 'many-events',
    input: { count: '100', pause_ms: '20' },
  })
  const cuts: Connection[] = []
  proxy.cutOnce('down', 3_000)
  const before = proxy.cuts
  await collect(through.events(other, { follow: true, onConnection: (one) => cuts.push(one) }))
  expect(proxy.cuts).toBe(before + 1)
  expect(cuts).toEqual([])
  await through.close()
})
