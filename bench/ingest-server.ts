/**
 * The server process of {@link file://./ingest.ts}: the real app on a port, hosting one instance whose prepared events file
 * gets its name at "go". Argument: the number of events.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { installedFile, openLocalPlatform } from '../src/core/index.ts'
import { ownerAccess } from '../src/server/access/access.ts'
import { noGuard } from '../src/server/access/guard.ts'
import { buildApp } from '../src/server/app.ts'
import { plainResolver } from '../test/support/plain-resolver.ts'
import { type IngestPlaces, writeEvents } from './ingest.ts'

const count = Number(process.argv[2])
const home = mkdtempSync(join(tmpdir(), 'resolve-bench-'))
const ready = join(home, 'ready.jsonl')

const BEHAVIOUR = `
  await me.ask('go', 'Now?')
  fs.renameSync(${JSON.stringify(ready)}, root + '/events.jsonl')
  await me.stopped
  me.finish({ status: 'cancelled' })`

const builtins = dirname(dirname(installedFile('resolvers/hello/resolver.js') as string))
const platform = await openLocalPlatform({ home, builtins })
const resolver = plainResolver(BEHAVIOUR)
await (await platform.catalog()).add(resolver.dir, { cwd: home })
const { instance_id: id } = await platform.create({ resolver: resolver.name, input: {} })
writeEvents(ready, id, count)
const app = await buildApp({ platform, access: ownerAccess, guard: noGuard })
await app.listen({ port: 0, host: '127.0.0.1' })
while ((await platform.record(id)).status !== 'awaiting_input') await new Promise((resolve) => setTimeout(resolve, 50))

process.on('message', async (message) => {
  if (message === 'go') await platform.answer(id, 'go', {}, { actor: 'bench', via: 'cli' })
  if (message !== 'end') return
  await platform.stop(id, { force: true })
  await app.close()
  await platform.close()
  rmSync(home, { recursive: true, force: true })
  rmSync(resolver.dir, { recursive: true, force: true })
  process.exit(0)
})
const { port } = app.server.address() as AddressInfo
const request = `GET /api/instances/${id}/events HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`
const places: IngestPlaces = { port, request }
process.send?.(places)
