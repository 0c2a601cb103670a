/** The server process of {@link file://./create.ts}: the real app on a port, with a resolver that emits one event and ends. */
import { rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { ownerAccess } from '../src/server/access/access.ts'
import { noGuard } from '../src/server/access/guard.ts'
import { buildApp } from '../src/server/app.ts'
import { platformOn } from '../test/support/platforms.ts'

const [home = '', directory = ''] = process.argv.slice(2)

const platform = await platformOn(home)
await (await platform.catalog()).add(directory, { cwd: home })
const app = await buildApp({ platform, access: ownerAccess, guard: noGuard })
await app.listen({ port: 0, host: '127.0.0.1' })

process.on('message', async () => {
  await app.close()
  await platform.close()
  rmSync(home, { recursive: true, force: true })
  process.exit(0)
})
process.send?.({ port: (app.server.address() as AddressInfo).port })
