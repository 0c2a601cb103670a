/** LLM sessions of a resolver without the SDK, whose worker is a container: its helper runs in there, and ends with its host. */
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { installedFile } from '../../src/core/files/installation.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import {
  containersOf,
  createdInDocker,
  describeWithDocker,
  docker,
  removeContainersOf,
  testImage,
} from '../support/docker.ts'
import { storyOf, temporaryHome, until } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { PLATFORM_CALLS } from '../support/platform-calls.ts'

process.env['RESOLVE_WORKER_IMAGE'] = testImage()
const KEY = 'sk-canary-of-the-container'

/** The programs of the session helper in a container, and how many processes have a text in their environment or arguments. */
const LOOK = `
  const { readdirSync, readFileSync } = require('node:fs')
  const found = { helped: [], withKey: 0 }
  for (const pid of readdirSync('/proc').filter((name) => /^\\d+$/.test(name) && Number(name) !== process.pid)) {
    let environ, argv
    try { environ = readFileSync('/proc/' + pid + '/environ', 'utf8'); argv = readFileSync('/proc/' + pid + '/cmdline', 'utf8') } catch { continue }
    if (/(^|\\0)RESOLVE_HELPER=/.test(environ)) found.helped.push(argv.split('\\0')[0])
    if ((environ + argv).includes(process.argv[1])) found.withKey += 1
  }
  found.helped.sort()
  console.log(JSON.stringify(found))`

describeWithDocker('LLM sessions over the protocol, in a container', { timeout: 120_000 }, () => {
  let home = ''
  beforeAll(() => {
    home = temporaryHome()
  })
  afterAll(() => removeContainersOf(home))

  // verifies: R40-SESSIONS
  test('a resolver without the SDK has sessions in its container, which go on under the next host', async () => {
    const wait = { tool: 'shell', input: { command: 'touch began; sleep 600' } }
    const turns = [{ calls: [{ tool: 'write', input: { path: 'made.txt', content: 'x' } }, wait] }, { text: 'Done.' }]
    const behaviour = `
      const model = 'scripted/' + process.cwd() + '/script.json'
      const { output } = await ask(() => create('work', { model }), () => prompt('work', 1, 'Go.'))
      me.finish({ status: 'completed', output })`
    const resolver = plainResolver(behaviour, { name: 'plain-talks', container: {} }, PLATFORM_CALLS)
    writeFileSync(join(resolver.dir, 'script.json'), JSON.stringify({ sessions: { work: turns } }), { mode: 0o644 })
    chmodSync(resolver.dir, 0o755)
    const id = await createdInDocker(home, resolver)
    const env = { ...process.env, RESOLVE_LLM_PROVIDER_API_KEY: KEY }
    const start = () =>
      spawn(process.execPath, [installedFile('host.js') as string, home, id], { stdio: 'ignore', env })
    const first = start()
    const { project } = instancePaths(home, id)
    await expect
      .poll(() => existsSync(join(project, 'workspace/began')) || existsSync(join(project, 'began')), {
        timeout: 60_000,
      })
      .toBe(true)
    const [container = ''] = await containersOf(id)
    const seen = async () =>
      JSON.parse(await docker('exec', '-e', 'NODE_OPTIONS=', container, 'node', '-e', LOOK, KEY)) as unknown
    // The key of the model is in no environment and no argument.
    await expect.poll(seen).toEqual({ helped: expect.arrayContaining(['node', 'sleep']), withKey: 0 })
    first.kill('SIGKILL')
    await expect.poll(seen, { timeout: 30_000 }).toEqual({ helped: [], withKey: 0 })
    const second = start()
    await until(home, id, ({ status }) => status === 'completed')
    await new Promise((resolve) => (second.exitCode === null ? second.once('exit', resolve) : resolve(undefined)))
    expect(storyOf(home, id)).toMatchObject({ status: 'completed', output: 'Done.', incarnation: 1 })
    expect(storyOf(home, id).sessions).toMatchObject([{ id: 'work', status: 'completed', turns: 1, steps: 2 }])
    expect(await containersOf(id)).toEqual([])
  })
})
