/**
 * Measures a million events of 200 bytes from the resolver's file into the journal and to one reader of the event stream. The
 * bare counterpart does only that in a loop. The events are written before; host and server are one process, the reader is
 * another.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inTurn, type Part, type Sample } from './figure.ts'
import { sized } from './quick.ts'

const EVENTS = sized(1_000_000, 50_000)
const EVENT_BYTES = 200
const PAIRS = sized(2, 1)
const NAME = `ingest of ${EVENTS.toLocaleString('en')} events of ${EVENT_BYTES} bytes`
/** The time of the first event; ten follow every millisecond. */
const BEGIN = Date.UTC(2026, 0, 1)
/** Only in the last event. */
const LAST = Buffer.from('plain.last')

export const ingest: Part = {
  figures: [{ name: NAME, against: 'a bare loop: read, parse, check, journal, send', goal: { least: 0.5 } }],
  rounds: 3,
  round,
}

/** What a program reports once it listens. {@link file://./ingest-server.ts}, {@link file://./ingest-bare.ts} */
export interface IngestPlaces {
  port: number
  request: string
}

async function round(): Promise<Sample[]> {
  const dir = mkdtempSync(join(tmpdir(), 'resolve-bench-'))
  try {
    const events = join(dir, 'events.jsonl')
    writeEvents(events, '01234567-89ab-4def-8123-456789abcdef', EVENTS)
    const bare = () => take(start('ingest-bare.ts', [events, join(dir, 'journal.log')]))
    const ours = () => take(start('ingest-server.ts', [String(EVENTS)]))
    return await inTurn(NAME, PAIRS, ours, bare)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** All events of an instance, each of the same length. */
export function writeEvents(path: string, instanceId: string, count: number): void {
  const line = (n: number): string => {
    const event_type = n === count ? 'plain.last' : 'plain.tick'
    const head = { schema_version: 1, event_type, instance_id: instanceId, data: { n, pad: '' } }
    const text = JSON.stringify({ ...head, timestamp: new Date(BEGIN + n / 10).toISOString() })
    return `${text.replace('"pad":""', `"pad":"${'x'.repeat(Math.max(0, EVENT_BYTES - 1 - text.length))}"`)}\n`
  }
  const atOnce = 10_000
  for (let n = 0; n < count; n += atOnce) {
    const lines = Array.from({ length: Math.min(atOnce, count - n) }, (_, at) => line(n + at + 1))
    appendFileSync(path, lines.join(''))
  }
}

function start(program: string, args: string[]): ChildProcess {
  return fork(join(import.meta.dirname, program), args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
}

/** The time from "go" until the last event has arrived. */
async function take(program: ChildProcess): Promise<number> {
  try {
    const [{ port, request }] = (await once(program, 'message')) as [IngestPlaces]
    const socket = connect(port, '127.0.0.1')
    let bytes = 0
    let tail = Buffer.alloc(0)
    const over = new Promise<void>((resolve, reject) => {
      socket.on('error', reject)
      socket.on('close', () => reject(new Error(`The stream ended after ${bytes} bytes.`)))
      socket.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        // It may be split over two chunks.
        const end = Buffer.concat([tail, chunk.subarray(-2 * EVENT_BYTES)])
        tail = end.subarray(-2 * EVENT_BYTES)
        if (end.includes(LAST)) resolve()
      })
    })
    const begin = performance.now()
    socket.write(request)
    program.send('go')
    await over
    const took = performance.now() - begin
    socket.destroy()
    if (bytes < EVENTS * EVENT_BYTES) throw new Error(`Only ${bytes} bytes came.`)
    return took
  } finally {
    program.send('end')
    await once(program, 'exit')
  }
}
