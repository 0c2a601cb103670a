/** The background host: a separate process that continues instances when no terminal is attached. Built to dist/host.js. */
import { dirname } from 'node:path'
import { installedFile, maxRunningFrom, openLocalPlatform } from '../core/index.ts'
import { socketApi } from './socket-api.ts'

const [home, ...ids] = process.argv.slice(2)
if (home === undefined || ids.length === 0) {
  process.stderr.write('Usage: node host.js HOME INSTANCE…\n')
  process.exit(2)
}

// A closing terminal, or a Ctrl-C in it, must not end a background host.
process.on('SIGHUP', () => {})
process.on('SIGINT', () => {})

const builtins = dirname(dirname(installedFile('resolvers/hello/resolver.js') ?? '/-'))
const platform = await openLocalPlatform({ home, builtins, socketApi, maxRunning: maxRunningFrom(process.env) })
process.on('SIGTERM', () => {
  void platform.releaseAndClose().then(() => process.exit(0))
})
await Promise.all(
  ids.map(async (id) => {
    await platform.host(id)
    await platform.over(id)
  }),
)
// It may have adopted others: those that its own waited for.
for (let ids = platform.hosted(); ids.length > 0; ids = platform.hosted()) {
  await Promise.all(ids.map((id) => platform.over(id)))
}
await platform.releaseAndClose()
