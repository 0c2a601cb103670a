/**
 * Measures a long journal sent from its start to one reader of the event stream, against the file piped into a socket. Server
 * and reader are separate processes.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { inTurn, type Part, type Sample } from './figure.ts'
import { sized } from './quick.ts'

const EVENTS = sized(1_000_000, 50_000)
const NAME = `replay of ${EVENTS.toLocaleString('en')} events of 200 bytes`
const PAIRS = sized(5, 1)

export const replay: Part = {
  figures: [{ name: NAME, against: 'createReadStream().pipe(socket), same chunks', goal: { least: 0.6 } }],
  rounds: 3,
  round,
}

/** What the server reports once it listens. {@link file://./replay-server.ts} */
export interface ReplayPlaces {
  port: number
  barePort: number
  path: string
  /** The size of the journal. */
  bytes: number
}

async function round(): Promise<Sample[]> {
  const server = fork(join(import.meta.dirname, 'replay-server.ts'), [String(EVENTS)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  try {
    const [places] = (await once(server, 'message')) as [ReplayPlaces]
    const request = `GET ${places.path} HTTP/1.1\r\nHost: 127.0.0.1:${places.port}\r\n\r\n`
    const ours = () => readAll(places.port, request, places.bytes)
    const bare = () => readAll(places.barePort, 'go', places.bytes)
    await inTurn('warm', 1, ours, bare)
    return await inTurn(NAME, PAIRS, ours, bare)
  } finally {
    server.send('end')
    await once(server, 'exit')
  }
}

/** The time until the other side has sent everything and closed. */
async function readAll(port: number, request: string, least: number): Promise<number> {
  const begin = performance.now()
  const socket = connect(port, '127.0.0.1')
  let bytes = 0
  socket.on('data', (chunk) => {
    bytes += chunk.length
  })
  socket.write(request)
  await once(socket, 'close')
  if (bytes < least) throw new Error(`Only ${bytes} of ${least} bytes came.`)
  return performance.now() - begin
}
