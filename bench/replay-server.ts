/**
 * The server process of {@link file://./replay.ts}: the real app with one long journal on a port, and the plain file on
 * another. Argument: the number of events.
 */
import { createReadStream, rmSync, statSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { instancePaths } from '../src/core/store/home.ts'
import { JournalWriter } from '../src/core/store/journal-writer.ts'
import { ownerAccess } from '../src/server/access/access.ts'
import { noGuard } from '../src/server/access/guard.ts'
import { buildApp } from '../src/server/app.ts'
import { created, temporaryHome } from '../test/support/instances.ts'
import { plainResolver } from '../test/support/plain-resolver.ts'
import { platformOn } from '../test/support/platforms.ts'
import type { ReplayPlaces } from './replay.ts'

const EVENTS = Number(process.argv[2])
const AT_ONCE = 1_000
/** The size of one read of the event stream. */
const CHUNK_BYTES = 64 * 1024

const home = temporaryHome()
const resolver = plainResolver('')
const id = await created(home, resolver)
const { journal } = instancePaths(home, id)

const writer = JournalWriter.open(journal)
let sourceEnd = 0
for (let n = 0; n < EVENTS; n += AT_ONCE) {
  const entries = Array.from({ length: AT_ONCE }, (_, at) => {
    const text = JSON.stringify({
      ...{ schema_version: 1, event_type: 'plain.tick', instance_id: id, data: { n: n + at, pad: 'x'.repeat(64) } },
      timestamp: new Date().toISOString(),
    })
    sourceEnd += text.length + 1
    return { text, sourceEnd }
  })
  writer.append(entries)
}
writer.close()

const platform = await platformOn(home)
const app = await buildApp({ platform, access: ownerAccess, guard: noGuard })
await app.listen({ port: 0, host: '127.0.0.1' })
const bare = createServer((socket) => {
  socket.once('data', () => createReadStream(journal, { highWaterMark: CHUNK_BYTES }).pipe(socket))
})
await new Promise<void>((resolve) => bare.listen(0, '127.0.0.1', resolve))

process.on('message', async () => {
  bare.close()
  await app.close()
  await platform.close()
  rmSync(home, { recursive: true, force: true })
  rmSync(resolver.dir, { recursive: true, force: true })
  process.exit(0)
})
const places: ReplayPlaces = {
  port: (app.server.address() as AddressInfo).port,
  barePort: (bare.address() as AddressInfo).port,
  path: `/api/instances/${id}/events?follow=false`,
  bytes: statSync(journal).size,
}
process.send?.(places)
