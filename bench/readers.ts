/**
 * Measures one instance at 100 events a second with 1, 50 and 1,000 readers and 50 stalled ones. Server, readers and resolver
 * are separate processes. The bounds hold on two idle cores; threats WEB-11 says what they protect.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Part, Sample } from './figure.ts'
import { sized } from './quick.ts'

/** Messages of a bench server. {@link file://./stream-server.ts} */
export interface ServerUsage {
  rssBytes: number
  cpuMs: number
}

/** The result of a run of readers. {@link file://./stream-readers.ts} */
export interface Reading {
  readers: number
  events: number
  /** Frames that were missing, repeated or out of order, over all readers. */
  faults: number
  p50Ms: number
  p99Ms: number
  maxMs: number
}

interface Round extends Reading {
  stalled: number
  /** Processor time of the server process, as a share of one core. */
  cpu: number
  rssGrowthMb: number
}

const SECONDS = sized(6, 2)
const RATE = 100
const HISTORY = sized(40_000, 4_000)
const MIB = 1024 * 1024

const FIFTY = '50 readers: p99'
const THOUSAND = '1,000 readers, 50 stalled: p99'
const CPU = '50 readers: processor'
const LOST = 'lost, doubled or misplaced events'
const GROWTH = '1,000 readers: more memory'

const CROWDS = [
  { readers: 1, stalled: 0 },
  { readers: 50, stalled: 0 },
  { readers: sized(1_000, 100), stalled: sized(50, 5) },
]

export const readers: Part = {
  figures: [
    { name: CPU, against: 'one reader', goal: { most: 5 } },
    { name: FIFTY, against: '–', goal: { most: 10 }, unit: 'ms' },
    { name: THOUSAND, against: '–', goal: { most: 150 }, unit: 'ms' },
    { name: GROWTH, against: '–', goal: { most: 200 }, unit: 'MiB' },
    { name: LOST, against: '–', goal: { most: 0 }, unit: 'events' },
  ],
  rounds: 2,
  round,
}

async function round(): Promise<Sample[]> {
  const rounds: Round[] = []
  for (const { readers, stalled } of CROWDS) rounds.push(await run(readers, stalled))
  const [one, fifty, thousand] = rounds as [Round, Round, Round]
  const lost = rounds.reduce((sum, { faults, events }) => sum + faults + Math.max(0, SECONDS * RATE - events), 0)
  return [
    { figure: CPU, ours: fifty.cpu, bare: one.cpu },
    { figure: FIFTY, value: fifty.p99Ms },
    { figure: THOUSAND, value: thousand.p99Ms },
    { figure: GROWTH, value: thousand.rssGrowthMb },
    { figure: LOST, value: lost },
  ]
}

async function run(readers: number, stalled: number): Promise<Round> {
  const server = start('stream-server.ts', [String(RATE), String(SECONDS), String(HISTORY)])
  try {
    const [{ url }] = (await once(server, 'message')) as [{ url: string }]
    const crowd = start('stream-readers.ts', [url, String(readers), String(stalled), String(HISTORY)])
    try {
      await once(crowd, 'message')
      // All readers are connected: the resolver may emit now.
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

/** The memory of a server before the first reader. */
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
