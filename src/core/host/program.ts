/** The background host: a process of its own that goes on with instances when nobody is at a terminal. Built to dist/host.js. */
import { HostProcess } from './host-process.ts'

const [home, ...ids] = process.argv.slice(2)
if (home === undefined || ids.length === 0) {
  process.stderr.write('Usage: node host.js HOME INSTANCE…\n')
  process.exit(2)
}

// A terminal that closes, or a Ctrl-C in it, is not meant for a host in the background.
process.on('SIGHUP', () => {})
process.on('SIGINT', () => {})

const hosts = new HostProcess(home)
process.on('SIGTERM', () => {
  void hosts.close().then(() => process.exit(0))
})
await Promise.all(
  ids.map(async (id) => {
    await hosts.own(id)
    await hosts.over(id)
  }),
)
await hosts.close()
