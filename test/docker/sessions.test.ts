/** LLM sessions of a worker in a container: their tools run there, and its control group counts their tasks (spec, Limits). */
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
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
import { ranToEnd, storyOf, temporaryHome, until } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { PLATFORM_CALLS } from '../support/platform-calls.ts'

process.env['RESOLVE_WORKER_IMAGE'] = testImage()
const KEY = 'sk-canary-of-the-container'
process.env['RESOLVE_LLM_PROVIDER_API_KEY'] = KEY

const COUNT = 'cat /sys/fs/cgroup/pids.current 2> /dev/null || cat /sys/fs/cgroup/pids/pids.current'
const TURNS = [
  { calls: [{ tool: 'write', input: { path: 'made.txt', content: 'in the container' } }] },
  { calls: [{ tool: 'search', input: { pattern: 'in the cont' } }] },
  {
    calls: [
      {
        tool: 'shell',
        input: {
          command: `for n in $(seq 18); do node -e 'setInterval(() => {}, 1e9)' > /dev/null 2>&1 & done; until [ "$(${COUNT})" -gt 128 ]; do sleep 0.1; done; echo started`,
        },
      },
    ],
  },
  { calls: [{ tool: 'shell', input: { command: 'echo more' } }] },
  { calls: [{ tool: 'jobs', input: { action: 'list' } }] },
  { text: 'Done.' },
]

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

describeWithDocker('LLM sessions in a container', { timeout: 120_000 }, () => {
  let home = ''
  beforeAll(() => {
    home = temporaryHome()
  })
  afterAll(() => removeContainersOf(home))

  // verifies: S-LIM-02 S-SDK-09 R56
  test('tools work in its workspace, and 18 idle Node processes are too many tasks', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'resolve-session-'))
    const manifest = {
      name: 'talks',
      version: '1.0.0',
      description: 'Talks',
      command: ['node', 'resolver.ts'],
      container: {},
    }
    writeFileSync(join(dir, 'manifest.json'), JSON.stringify(manifest), { mode: 0o644 })
    writeFileSync(join(dir, 'script.json'), JSON.stringify({ sessions: { '*': TURNS } }), { mode: 0o644 })
    const program = `import { resolver } from 'resolve-platform/sdk'
      resolver({ async run(ctx) {
        const session = await ctx.sessions.create('work', { model: 'scripted/' + import.meta.dirname + '/script.json' })
        return (await session.run('Go.')).output
      } }).serve()\n`
    writeFileSync(join(dir, 'resolver.ts'), program, { mode: 0o644 })
    chmodSync(dir, 0o755)
    const { id, story } = await ranToEnd(home, { dir, name: 'talks' })
    expect({ error: story.error, output: story.output }).toEqual({ error: null, output: 'Done.' })
    expect(story.sessions).toMatchObject([{ id: 'work', kind: 'scripted', status: 'completed', steps: 6 }])
    const transcript = join(instancePaths(home, id).project, '.resolve/sessions/work/transcript.jsonl')
    const results = readFileSync(transcript, 'utf8')
      .split('\n')
      .filter((line) => line.includes('"type":"tool_result"'))
      .map((line) => JSON.parse(line) as { output: string; is_error: boolean })
    expect(results.map(({ is_error }) => is_error)).toEqual([false, false, false, true, false])
    expect(results[1]?.output).toContain('made.txt:1:in the container')
    expect(results[2]?.output).toMatch(/^started\n[\s\S]*still running/)
    expect(results[3]?.output).toMatch(/^Refused: 1\d\d tasks .* of "node/)
  })

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
    const start = () => spawn(process.execPath, [installedFile('host.js') as string, home, id], { stdio: 'ignore' })
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
