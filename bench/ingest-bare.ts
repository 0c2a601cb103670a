/**
 * The bare counterpart of {@link file://./ingest.ts}: one process that splits an events file into lines, parses them, checks
 * their shape, journals them with the prefix and sends them to a socket. Arguments: the events file, the journal to write.
 */
import { once } from 'node:events'
import { closeSync, fdatasyncSync, openSync, readSync, writeSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { IngestPlaces } from './ingest.ts'

const CHUNK_BYTES = 256 * 1024
const [events = '', journal = ''] = process.argv.slice(2)

async function carry(socket: Socket): Promise<void> {
  const from = openSync(events, 'r')
  const to = openSync(journal, 'w')
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES)
  let seq = 0
  let sourceEnd = 0
  for (let offset = 0; ; ) {
    const read = readSync(from, buffer, 0, CHUNK_BYTES, offset)
    const end = buffer.subarray(0, read).lastIndexOf(0x0a) + 1
    if (end === 0) break
    offset += end
    let text = ''
    // The events of the bench are ASCII: one character is one byte.
    for (const line of buffer.toString('latin1', 0, end - 1).split('\n')) {
      check(JSON.parse(line))
      seq += 1
      sourceEnd += line.length + 1
      text += `${seq}\t${sourceEnd}\t${line}\n`
    }
    const bytes = Buffer.from(text, 'latin1')
    writeSync(to, bytes)
    if (!socket.write(bytes)) await once(socket, 'drain')
  }
  fdatasyncSync(to)
  closeSync(from)
  closeSync(to)
  socket.end()
}

function check(event: Record<string, unknown>): void {
  const isShaped =
    event['schema_version'] === 1 &&
    typeof event['event_type'] === 'string' &&
    typeof event['instance_id'] === 'string' &&
    typeof event['data'] === 'object' &&
    typeof event['timestamp'] === 'string'
  if (!isShaped) throw new Error('An event has another shape.')
}

const server = createServer((socket) => {
  socket.once('data', () => void carry(socket))
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
process.on('message', (message) => {
  if (message === 'end') process.exit(0)
})
const places: IngestPlaces = { port: (server.address() as AddressInfo).port, request: 'go' }
process.send?.(places)
