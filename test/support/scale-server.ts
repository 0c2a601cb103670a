/**
 * `serve` in a process of its own for {@link file://./scale-client.ts}: told "usage" it says what it takes,
 * after a collection where it was started with `--expose-gc`; told "reset" it measures its event loop anew. Argument: the home.
 */

import { dirname } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { installedFile, openTokens } from '../../src/core/index.ts'
import { startServing } from '../../src/server/serve.ts'

export interface ScaleUsage {
  rssBytes: number
  heapBytes: number
  /** Outside the heap: buffers. */
  externalBytes: number
  cpuMs: number
  /** The event loop's delay since the last "reset". */
  delayP99Ms: number
  delayMaxMs: number
}

const [home = ''] = process.argv.slice(2)
const began = performance.now()
const builtins = dirname(dirname(installedFile('resolvers/hello/resolver.js') as string))
const serving = await startServing({
  ...{ home, builtins, host: '127.0.0.1', port: 0, version: '0.0.0', env: {} },
  log: { level: 'warn' },
})
const { token } = await openTokens(home).create({ scope: 'admin' })
const delay = monitorEventLoopDelay({ resolution: 5 })
delay.enable()

process.on('message', async (message) => {
  if (message === 'reset') delay.reset()
  if (message === 'usage') process.send?.(usage())
  if (message !== 'end') return
  await serving.close()
  process.exit(0)
})
process.send?.({ url: serving.url, token, tookMs: performance.now() - began })

function usage(): ScaleUsage {
  for (let n = 0; n < 3; n += 1) globalThis.gc?.()
  const { rss, heapUsed, external } = process.memoryUsage()
  const { user, system } = process.cpuUsage()
  return {
    ...{ rssBytes: rss, heapBytes: heapUsed, externalBytes: external, cpuMs: (user + system) / 1_000 },
    ...{ delayP99Ms: delay.percentile(99) / 1e6, delayMaxMs: delay.max / 1e6 },
  }
}
