/**
 * Measures what `serve` needs for idle instances, each with a worker that waits (a shell of about a megabyte): 200 for the
 * memory of one, then 1,000 for what they cost together. At the end all are stopped, and no process is left.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { workerProcesses } from '../src/core/host/ingest/instance-files.ts'
import { prepareHome } from '../src/core/store/home.ts'
import { addFixture, endWorkers, ScaleServer } from '../test/support/scale-client.ts'
import type { Part, Sample } from './figure.ts'
import { sized } from './quick.ts'

const HEAP = 'a live idle instance: heap and buffers'
const RESIDENT = 'a live idle instance: resident memory'
const DELAY = '1,000 live: event loop, p99'
const CPU = '1,000 live: processor'
const LEFT = '1,000 stopped: processes left'

const RESOLVER = 'waits-in-sh'
/** The first ones load code and buffers that all share. */
const WARM = sized(100, 5)
const MEASURED = sized(200, 15)
const ALL = sized(1_000, 40)
const SETTLE_MS = 4_000
const IDLE_MS = sized(10_000, 3_000)
const KIB = 1024

export const memory: Part = {
  figures: [
    { name: HEAP, against: '–', goal: { most: 150 }, unit: 'KiB' },
    { name: RESIDENT, against: '–', goal: { most: 150 }, unit: 'KiB' },
    { name: DELAY, against: '–', goal: { most: 100 }, unit: 'ms' },
    { name: CPU, against: '–', goal: { most: 25 }, unit: '%' },
    { name: LEFT, against: '–', goal: { most: 0 }, unit: 'processes' },
  ],
  rounds: 1,
  round,
}

async function round(): Promise<Sample[]> {
  const home = mkdtempSync(join(tmpdir(), 'resolve-bench-'))
  prepareHome(home)
  await addFixture(home, RESOLVER)
  const server = await ScaleServer.start(home, ['--expose-gc'])
  try {
    const ids = await server.createRunning(RESOLVER, WARM)
    await sleep(SETTLE_MS)
    const before = await server.usage()
    ids.push(...(await server.createRunning(RESOLVER, MEASURED)))
    await sleep(SETTLE_MS)
    const after = await server.usage()
    ids.push(...(await server.createRunning(RESOLVER, ALL - WARM - MEASURED)))
    await sleep(SETTLE_MS)
    const begin = await server.usage()
    server.reset()
    await sleep(IDLE_MS)
    const end = await server.usage()
    await server.endAll(ids)
    const bytes = after.heapBytes + after.externalBytes - before.heapBytes - before.externalBytes
    return [
      { figure: HEAP, value: bytes / KIB / MEASURED },
      { figure: RESIDENT, value: (after.rssBytes - before.rssBytes) / KIB / MEASURED },
      { figure: DELAY, value: end.delayP99Ms },
      { figure: CPU, value: ((end.cpuMs - begin.cpuMs) / IDLE_MS) * 100 },
      { figure: LEFT, value: [...workerProcesses(home).values()].flat().length },
    ]
  } finally {
    await server.stop()
    endWorkers(home)
    rmSync(home, { recursive: true, force: true })
  }
}
