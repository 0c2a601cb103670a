/**
 * Measures how long an event takes from the resolver to a reader at 100 events a second; the bare counterpart is a plain watch,
 * read and send. The program between, the emitter and the reader are separate processes; this process is the reader of both.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Part, Sample } from './figure.ts'
import { sized } from './quick.ts'

const RATE = 100
const SECONDS = sized(6, 2)
/** Events that arrive while code is still cold are not counted, on either side. */
const COLD = RATE
const PAIRS = sized(2, 1)
const AGAINST = 'a bare watch, read, send'
const P50 = 'emit → reader at 100 events/s: p50 above'
const P99 = 'emit → reader at 100 events/s: p99 above'

export const latency: Part = {
  figures: [
    { name: P50, against: AGAINST, goal: { most: 1 }, isDifference: true, unit: 'ms' },
    { name: P99, against: AGAINST, goal: { most: 5 }, isDifference: true, unit: 'ms' },
  ],
  rounds: 3,
  round,
}

/** What a program reports once it listens. {@link file://./stream-server.ts}, {@link file://./latency-bare.ts} */
export interface StreamPlaces {
  url: string
}

interface Ages {
  p50Ms: number
  p99Ms: number
}

async function round(): Promise<Sample[]> {
  const samples: Sample[] = []
  for (let n = 0; n < PAIRS; n += 1) {
    const bareFirst = n % 2 === 0 ? await run('latency-bare.ts') : undefined
    const ours = await run('stream-server.ts')
    const bare = bareFirst ?? (await run('latency-bare.ts'))
    samples.push({ figure: P50, ours: ours.p50Ms, bare: bare.p50Ms })
    samples.push({ figure: P99, ours: ours.p99Ms, bare: bare.p99Ms })
  }
  return samples
}

async function run(file: string): Promise<Ages> {
  const args = [RATE, SECONDS, 0].map(String)
  const program = fork(join(import.meta.dirname, file), args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  try {
    const [{ url }] = (await once(program, 'message')) as [StreamPlaces]
    const { port, pathname } = new URL(url)
    const socket = connect(Number(port), '127.0.0.1')
    socket.write(`GET ${pathname} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`)
    await once(socket, 'data')
    program.send('go')
    const ages = await readAges(socket)
    socket.destroy()
    const warm = ages.slice(COLD).sort((a, b) => a - b)
    const at = (share: number) => warm[Math.floor(warm.length * share)] as number
    return { p50Ms: at(0.5), p99Ms: at(0.99) }
  } finally {
    program.send('end')
    await once(program, 'exit')
  }
}

/** The age of each event on arrival. */
function readAges(socket: Socket): Promise<number[]> {
  const ages: number[] = []
  let rest = ''
  return new Promise((resolve, reject) => {
    socket.on('close', () => reject(new Error(`The stream ended after ${ages.length} events.`)))
    socket.on('data', (bytes: Buffer) => {
      const now = performance.timeOrigin + performance.now()
      const lines = (rest + bytes.toString('latin1')).split('\n')
      rest = lines.pop() as string
      for (const line of lines) {
        const at = line.indexOf('"at":')
        if (at !== -1) ages.push(now - Number.parseFloat(line.slice(at + 5, at + 25)))
      }
      if (ages.length === RATE * SECONDS) resolve(ages)
    })
  })
}
