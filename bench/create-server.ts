/** The server process of {@link file://./create.ts} and {@link file://./burst.ts}: the real app on a port, with the resolvers of the given directories. */
import { rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { ownerAccess } from '../src/server/access/access.ts'
import { noGuard } from '../src/server/access/guard.ts'
import { buildApp } from '../src/server/app.ts'
import { platformOn } from '../test/support/platforms.ts'

const [home = '', ...directories] = process.argv.slice(2)

const platform = await platformOn(home)
for (const directory of directories) await (await platform.catalog()).add(directory, { cwd: home })
const app = await buildApp({ platform, access: ownerAccess, guard: noGuard })
await app.listen({ port: 0, host: '127.0.0.1' })

/** What the server answers when it is asked how it stands. */
export interface ServerUse {
  /** Instances that have not ended. */
  hosted: number
  /** Processor time of the server alone, all threads. Milliseconds. */
  cpuMs: number
}

process.on('message', async (message) => {
  if (message === 'use') {
    const { user, system } = process.cpuUsage()
    const use: ServerUse = { hosted: platform.hosted().length, cpuMs: (user + system) / 1_000 }
    process.send?.(use)
    return
  }
  await app.close()
  await platform.close()
  rmSync(home, { recursive: true, force: true })
  process.exit(0)
})
process.send?.({ port: (app.server.address() as AddressInfo).port })
