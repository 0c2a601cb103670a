/**
 * The bare counterpart of {@link file://./latency.ts}: watches a directory, reads what was appended to the events file and
 * writes it to a socket; another process emits. Arguments: events a second, seconds.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readSync, rmSync, watch } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StreamPlaces } from './latency.ts'
import { EVENT_LINE, steadyStream } from './steady-stream.ts'

const [rate = 100, seconds = 5] = process.argv.slice(2).map(Number)

const EMITTER = `
  import * as fs from 'node:fs'
  import { setTimeout as sleep } from 'node:timers/promises'
  const root = process.argv[1]
  const me = { config: { instance_id: '0123456789ab' } }
  ${EVENT_LINE}
  ${steadyStream(rate, seconds)}`

const root = mkdtempSync(join(tmpdir(), 'resolve-bench-'))
const events = openSync(join(root, 'events.jsonl'), 'a+')
let emitter: ChildProcess | undefined

function serve(socket: Socket): void {
  const buffer = Buffer.allocUnsafe(64 * 1024)
  let offset = 0
  const watcher = watch(root, () => {
    const read = readSync(events, buffer, 0, buffer.length, offset)
    offset += read
    if (read > 0) socket.write(Buffer.from(buffer.subarray(0, read)))
  })
  socket.on('close', () => watcher.close())
}

const server = createServer((socket) => {
  socket.once('data', () => {
    serve(socket)
    socket.write('\n')
  })
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
process.on('message', (message) => {
  if (message === 'go')
    emitter = spawn(process.execPath, ['--input-type=module', '-e', EMITTER, root], { stdio: 'inherit' })
  if (message !== 'end') return
  emitter?.kill('SIGKILL')
  closeSync(events)
  rmSync(root, { recursive: true, force: true })
  process.exit(0)
})
const places: StreamPlaces = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }
process.send?.(places)
