/**
 * `npm run bench`: one instance at 100 events a second, read by 1, 50 and 1,000 readers and 50 that stall. Server, readers and
 * resolver are processes of their own. Prints a table, writes coverage/bench-readers.json, and fails where a bound is passed;
 * with --report it only tells. Bounds hold on two idle cores; see threats WEB-11 for where they come from.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** What a bench server tells and is told. {@link file://./stream-server.ts} */
export interface ServerUsage {
  rssBytes: number
  cpuMs: number
}

/** What a run of readers came to. {@link file://./stream-readers.ts} */
export interface Reading {
  readers: number
  events: number
  /** Frames that never came, came twice or out of order, over all readers. */
  faults: number
  p50Ms: number
  p99Ms: number
  maxMs: number
}

interface Round extends Reading {
  stalled: number
  /** Of the serving process, as a share of one core. */
  cpu: number
  rssGrowthMb: number
}

const SECONDS = 6
const RATE = 100
const HISTORY = 40_000
const MIB = 1024 * 1024

const ROUNDS = [
  { readers: 1, stalled: 0, p99Ms: 10 },
  { readers: 50, stalled: 0, p99Ms: 10 },
  { readers: 1_000, stalled: 50, p99Ms: 150 },
]
const RSS_GROWTH_MAX_MB = 200

async function main(): Promise<void> {
  const isReport = process.argv.includes('--report')
  const rounds: Round[] = []
  const failures: string[] = []
  for (const { readers, stalled, p99Ms } of ROUNDS) {
    const round = await run(readers, stalled)
    rounds.push(round)
    const who = `${readers} readers${stalled > 0 ? `, ${stalled} stalled` : ''}`
    if (round.p99Ms > p99Ms) failures.push(`${who}: p99 ${round.p99Ms.toFixed(1)} ms, bound ${p99Ms} ms`)
    if (round.rssGrowthMb > RSS_GROWTH_MAX_MB) failures.push(`${who}: ${round.rssGrowthMb.toFixed(0)} MiB more memory`)
    if (round.faults > 0 || round.events < SECONDS * RATE)
      failures.push(`${who}: ${round.faults} faults, ${round.events} events`)
  }
  print(rounds)
  const [one, fifty] = rounds
  const ratio = one === undefined || fifty === undefined ? 0 : fifty.cpu / one.cpu
  console.log(`50 readers cost ${ratio.toFixed(1)} times the processor of one.`)
  const folder = join(import.meta.dirname, '..', 'coverage')
  mkdirSync(folder, { recursive: true })
  const document = {
    at: new Date().toISOString(),
    node: process.version,
    rate: RATE,
    seconds: SECONDS,
    ratio,
    rounds,
    failures,
  }
  writeFileSync(join(folder, 'bench-readers.json'), `${JSON.stringify(document, null, 2)}\n`)
  for (const failure of failures) console.log(`Over its bound: ${failure}`)
  if (failures.length > 0 && !isReport) process.exitCode = 1
}

async function run(readers: number, stalled: number): Promise<Round> {
  const server = start('stream-server.ts', [String(RATE), String(SECONDS), String(HISTORY)])
  try {
    const [{ url }] = (await once(server, 'message')) as [{ url: string }]
    const crowd = start('stream-readers.ts', [url, String(readers), String(stalled), String(HISTORY)])
    try {
      await once(crowd, 'message')
      // All are there: now the resolver may speak.
      const before = await usage(server)
      const begin = performance.now()
      const over = once(crowd, 'message') as Promise<[Reading]>
      server.send('go')
      let most = before.rssBytes
      const watch = setInterval(async () => {
        most = Math.max(most, (await usage(server)).rssBytes)
      }, 500)
      const [reading] = await over
      clearInterval(watch)
      const after = await usage(server)
      const cpu = (after.cpuMs - before.cpuMs) / (performance.now() - begin)
      const rssGrowthMb = (Math.max(most, after.rssBytes) - baseline(server)) / MIB
      return { ...reading, stalled, cpu, rssGrowthMb }
    } finally {
      crowd.kill('SIGKILL')
    }
  } finally {
    server.send('end')
    await once(server, 'exit')
  }
}

const baselines = new WeakMap<ChildProcess, number>()

/** The memory of a server before anybody came. */
function baseline(server: ChildProcess): number {
  return baselines.get(server) ?? 0
}

function start(program: string, args: string[]): ChildProcess {
  const child = fork(join(import.meta.dirname, program), args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  child.once('message', (message) => {
    if (typeof message === 'object' && 'rssBytes' in message) baselines.set(child, Number(message.rssBytes))
  })
  return child
}

async function usage(server: ChildProcess): Promise<ServerUsage> {
  const answer = once(server, 'message') as Promise<[ServerUsage]>
  server.send('usage')
  return (await answer)[0]
}

function print(rounds: readonly Round[]): void {
  console.table(
    rounds.map((round) => ({
      readers: round.readers,
      stalled: round.stalled,
      events: round.events,
      faults: round.faults,
      'p50 ms': Number(round.p50Ms.toFixed(2)),
      'p99 ms': Number(round.p99Ms.toFixed(2)),
      'max ms': Number(round.maxMs.toFixed(1)),
      'server cpu': `${(round.cpu * 100).toFixed(0)} %`,
      'more memory MiB': Number(round.rssGrowthMb.toFixed(0)),
    })),
  )
}

await main()
