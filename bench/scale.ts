/**
 * Measures a home with 10,000 instances, 200 of them live: pages over the API, the list command against that of a small home,
 * the start of `serve`, and the adoption of the live ones by a server that finds them without a host.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openTokens } from '../src/core/index.ts'
import { root } from '../test/house/source-files.ts'
import { checkInvariants } from '../test/support/invariants.ts'
import { addFixture, endWorkers, forEach, percentile, ScaleServer } from '../test/support/scale-client.ts'
import { seedHome } from '../test/support/seeded-home.ts'
import { inTurn, type Part, type Sample } from './figure.ts'
import { sized } from './quick.ts'

const PAGE = '10,000 instances: first page over the API, p50'
const FILTERED = '10,000 instances: first page of one status, p50'
const LIST = '`instance list` of 10,000, more than of 10'
const START = '`serve` of 10,000: start to the first page, warm'
const TAKES = '`serve` of 10,000: resident memory'
const ADOPTED = '200 live adopted'
const MEANWHILE = 'meanwhile a page over the API, p99'
const BROKEN = 'adopted instances whose journal breaks an invariant'

const RESOLVER = 'waits-in-sh'
const LIVE = sized(200, 10)
const ALL = sized(10_000, 400)
const FEW = 10
const PAGES = 40
const LISTS = sized(9, 3)
const STARTS = sized(5, 1)
/** By then the record of an idle instance no longer changes. */
const SETTLE_MS = 4_000
const MIB = 1024 * 1024

export const scale: Part = {
  figures: [
    { name: PAGE, against: '–', goal: { most: 10 }, unit: 'ms' },
    { name: FILTERED, against: '–', goal: { most: 10 }, unit: 'ms' },
    { name: LIST, against: '`instance list` of 10', goal: { most: 60 }, isDifference: true, unit: 'ms' },
    { name: START, against: '–', goal: { most: 1_500 }, unit: 'ms' },
    { name: TAKES, against: '–', goal: { most: 300 }, unit: 'MiB' },
    { name: ADOPTED, against: '–', goal: { most: 10_000 }, unit: 'ms' },
    { name: MEANWHILE, against: '–', goal: { most: 200 }, unit: 'ms' },
    { name: BROKEN, against: '–', goal: { most: 0 }, unit: 'instances' },
  ],
  rounds: 1,
  round,
}

async function round(): Promise<Sample[]> {
  const [home, small] = [await seeded(ALL - LIVE), await seeded(FEW)]
  await addFixture(home, RESOLVER)
  let server = await ScaleServer.start(home)
  try {
    const live = await server.createRunning(RESOLVER, LIVE)
    await sleep(SETTLE_MS)
    const samples: Sample[] = []
    for (const ms of await pages(server, '/instances')) samples.push({ figure: PAGE, value: ms })
    for (const status of ['running', 'failed']) {
      for (const ms of await pages(server, `/instances?status=${status}`)) samples.push({ figure: FILTERED, value: ms })
    }
    samples.push(...(await lists(home, small)))
    await server.kill()
    server = await ScaleServer.start(home)
    const begin = server.beganAt
    const meanwhile: number[] = []
    do {
      meanwhile.push(await timed(() => server.ask('/instances')))
      if (performance.now() - begin > 120_000) throw new Error('Not all were adopted within two minutes.')
    } while ((await server.adoptions()) < LIVE)
    samples.push({ figure: ADOPTED, value: performance.now() - begin })
    samples.push({ figure: MEANWHILE, value: percentile(meanwhile, 0.99) })
    samples.push({ figure: TAKES, value: (await server.usage()).rssBytes / MIB })
    await server.endAll(live)
    samples.push({ figure: BROKEN, value: live.filter((id) => checkInvariants({ home, id }).length > 0).length })
    await server.stop()
    samples.push(...(await starts(home)))
    return samples
  } finally {
    if (server.process.exitCode === null && server.process.signalCode === null) await server.stop()
    endWorkers(home)
    for (const path of [home, small]) rmSync(path, { recursive: true, force: true })
  }
}

/** Written in memory, where a sync is free, and copied to the place of homes. */
async function seeded(count: number): Promise<string> {
  const draft = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'resolve-seed-'))
  const home = mkdtempSync(join(tmpdir(), 'resolve-bench-'))
  try {
    await seedHome(draft, count)
    cpSync(draft, home, { recursive: true })
    return home
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

async function pages(server: ScaleServer, path: string): Promise<number[]> {
  for (let n = 0; n < PAGES; n += 1) await server.ask(path)
  const took: number[] = []
  for (let n = 0; n < PAGES; n += 1) took.push(await timed(() => server.ask(path)))
  return took
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const begin = performance.now()
  await act()
  return performance.now() - begin
}

/** Times of whole processes, alternating. */
async function lists(large: string, small: string): Promise<Sample[]> {
  const list = (home: string) => {
    const begin = performance.now()
    const env = { ...process.env, RESOLVE_HOME: home, NO_COLOR: '1' }
    const { status, stderr } = spawnSync(process.execPath, [join(root, 'bin/run.js'), 'instance', 'list'], {
      ...{ env, encoding: 'utf8' },
    })
    if (status !== 0) throw new Error(`instance list ended with ${status}: ${stderr}`)
    return performance.now() - begin
  }
  for (const home of [large, small, large]) list(home)
  return await inTurn(
    LIST,
    LISTS,
    () => list(large),
    () => list(small),
  )
}

/** The built program, from its start to a whole first page. */
async function starts(home: string): Promise<Sample[]> {
  const { token } = await openTokens(home).create({ scope: 'admin' })
  const samples: Sample[] = []
  await forEach(
    Array.from({ length: STARTS + 1 }),
    async () => {
      const begin = performance.now()
      const args = [join(root, 'bin/run.js'), 'serve', '--port', '0', '--no-ui', '--json']
      const child = spawn(process.execPath, args, {
        env: { ...process.env, RESOLVE_HOME: home },
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      const [said] = (await once(child.stdout, 'data')) as [Buffer]
      const { url } = JSON.parse(said.toString()) as { url: string }
      const page = await fetch(`${url}/api/instances`, { headers: { authorization: `Bearer ${token}` } })
      await page.text()
      if (!page.ok) throw new Error(`The first page was answered with ${page.status}.`)
      samples.push({ figure: START, value: performance.now() - begin })
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
    1,
  )
  // The first one fills the caches.
  return samples.slice(1)
}
