/**
 * The server process of {@link file://./readers.ts} and {@link file://./latency.ts}: the real app on a port, hosting one
 * instance whose resolver first writes a long history and then, at "go", a steady stream. Arguments: events a second, seconds,
 * events before.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { installedFile, openLocalPlatform } from '../src/core/index.ts'
import { ownerAccess } from '../src/server/access/access.ts'
import { noGuard } from '../src/server/access/guard.ts'
import { buildApp } from '../src/server/app.ts'
import { plainResolver } from '../test/support/plain-resolver.ts'
import { EVENT_LINE, steadyStream } from './steady-stream.ts'

const [rate = 100, seconds = 5, history = 0] = process.argv.slice(2).map(Number)

const BEHAVIOUR = `
  ${EVENT_LINE}
  for (let n = 0; n < ${history}; n += 1000) fs.appendFileSync(root + '/events.jsonl', Array.from({ length: 1000 }, () => line(0)).join(''))
  me.emit('plain.ready')
  await me.ask('go', 'Now?')
  ${steadyStream(rate, seconds)}
  me.finish({ status: 'completed' })`

const home = mkdtempSync(join(tmpdir(), 'resolve-bench-'))
const builtins = dirname(dirname(installedFile('resolvers/hello/resolver.js') as string))
const platform = await openLocalPlatform({ home, builtins })
const resolver = plainResolver(BEHAVIOUR)
await (await platform.catalog()).add(resolver.dir, { cwd: home })
const { instance_id: id } = await platform.create({ resolver: resolver.name, input: {} })
const app = await buildApp({ platform, access: ownerAccess, guard: noGuard })
await app.listen({ port: 0, host: '127.0.0.1' })
while ((await platform.record(id)).status !== 'awaiting_input') await new Promise((resolve) => setTimeout(resolve, 50))

process.on('message', async (message) => {
  if (message === 'usage') {
    const { user, system } = process.cpuUsage()
    process.send?.({ rssBytes: process.memoryUsage().rss, cpuMs: (user + system) / 1_000 })
  }
  if (message === 'go') await platform.answer(id, 'go', {}, { actor: 'bench', via: 'cli' })
  if (message !== 'end') return
  await app.close()
  await platform.close()
  rmSync(home, { recursive: true, force: true })
  rmSync(resolver.dir, { recursive: true, force: true })
  process.exit(0)
})
const { port } = app.server.address() as AddressInfo
const events = `http://127.0.0.1:${port}/api/instances/${id}/events`
writeFileSync(join(home, 'ready'), '')
process.send?.({ url: events, rssBytes: process.memoryUsage().rss })
