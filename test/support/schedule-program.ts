/**
 * One look at the schedules of a home at a given time, in a process of its own that can be killed: `node schedule-program.ts HOME TIME`.
 * It prints a line for each outcome that it decided.
 */
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

type Core = typeof import('../../src/core/index.ts')

const [home = '', time = ''] = process.argv.slice(2)
const dist = join(import.meta.dirname, '../../dist')
const core = (await import(pathToFileURL(join(dist, 'core/index.js')).href)) as Core
const platform = await core.openLocalPlatform({ home, builtins: join(dirname(dist), 'dist/resolvers') })
const runs = {
  create: (request: Parameters<typeof platform.create>[0]) => platform.create({ ...request, host: 'background' }),
  recordOf: async (id: string) =>
    await platform.record(id).catch((error: { code?: string }) => {
      if (error.code === 'instance_unknown') return undefined
      throw error
    }),
}
await core.runDue(
  home,
  runs,
  (news) => process.stdout.write(`${JSON.stringify(news)}\n`),
  () => new Date(time),
)
await platform.close()
