/** LLM sessions of a worker in a container: their tools run there, and its control group counts their tasks (spec, Limits). */
import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { instancePaths } from '../../src/core/store/home.ts'
import { describeWithDocker, removeContainersOf, testImage } from '../support/docker.ts'
import { ranToEnd, temporaryHome } from '../support/instances.ts'

process.env['RESOLVE_WORKER_IMAGE'] = testImage()

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

const shell = (command: string) => ({ calls: [{ tool: 'shell', input: { command } }] })
/** Idle Node processes, seven tasks each; their ids are in a file. */
const idle = (many: number, tasks: number) =>
  `for n in $(seq ${many}); do node -e 'setInterval(() => {}, 1e9)' > /dev/null 2>&1 & echo $! >> idle; done; until [ "$(${COUNT})" -gt ${tasks} ]; do sleep 0.1; done; echo started`
const RUNNER = `echo 'require("node:test").test("slow", () => new Promise(() => setInterval(() => {}, 1e9)))' > slow.test.js; setsid bash -c 'exec -a pytest sleep 301' > /dev/null 2>&1 & echo $! >> runners; setsid node --test slow.test.js > /dev/null 2>&1 & echo $! >> runners; sleep 302 > /dev/null 2>&1 & echo $! > sleeper; for p in $(cat runners); do until head -c 6 /proc/$p/cmdline | grep -qaE '^(pytest|node)'; do sleep 0.05; done; done`
const GUARDED = [
  shell(idle(9, 64)),
  shell('echo warned'),
  shell(`kill -9 $(cat idle); until [ "$(${COUNT})" -lt 60 ]; do sleep 0.1; done; ${RUNNER}`),
  shell('echo next'),
  shell(
    'for p in $(cat runners); do [ -e /proc/$p/exe ] && echo "$p lives"; done; [ -e /proc/$(cat sleeper)/exe ] && echo "the sleeper lives"',
  ),
  ...Array.from({ length: 6 }, () => shell('echo same')),
  shell(idle(30, 200)),
  shell('echo refused'),
  { calls: [{ tool: 'jobs', input: { action: 'list' } }] },
  { text: 'Done.' },
]

describeWithDocker('LLM sessions in a container', { timeout: 120_000 }, () => {
  let home = ''
  beforeAll(() => {
    home = temporaryHome()
  })
  afterAll(() => removeContainersOf(home))

  async function results(turns: readonly unknown[]): Promise<{ output: string; is_error: boolean }[]> {
    const dir = talker(turns)
    const { id, story } = await ranToEnd(home, { dir, name: 'talks' })
    expect({ error: story.error, output: story.output }).toEqual({ error: null, output: 'Done.' })
    expect(story.sessions).toMatchObject([{ id: 'work', kind: 'scripted', status: 'completed', steps: turns.length }])
    const transcript = join(instancePaths(home, id).project, '.resolve/sessions/work/transcript.jsonl')
    return readFileSync(transcript, 'utf8')
      .split('\n')
      .filter((line) => line.includes('"type":"tool_result"'))
      .map((line) => JSON.parse(line) as { output: string; is_error: boolean })
  }

  // verifies: S-LIM-02
  test('the guardian warns, refuses and ends as on the machine of the host', async () => {
    const [nine, warned, , next, alive, ...rest] = await results(GUARDED)
    expect(nine).toMatchObject({ is_error: false, output: expect.stringContaining('started') })
    expect(warned).toMatchObject({ is_error: false, output: expect.stringMatching(/^warned\n[\s\S]*tasks/) })
    expect(next).toMatchObject({
      is_error: false,
      output: expect.stringMatching(/Ended test runners[\s\S]*pytest[\s\S]*node --test/),
    })
    expect(alive?.output).toMatch(/^the sleeper lives/)
    expect(rest.map(({ is_error }) => is_error)).toEqual([false, false, false, false, false, true, false, true, false])
    expect(rest[5]?.output).toContain('ran 5 times')
    expect(rest[7]?.output).toMatch(/^Refused: 2\d\d tasks/)
  })

  // verifies: S-LIM-02 S-SDK-09 R56
  test('tools work in its workspace, and 18 idle Node processes are too many tasks', async () => {
    const told = await results(TURNS)
    expect(told.map(({ is_error }) => is_error)).toEqual([false, false, false, true, false])
    expect(told[1]?.output).toContain('made.txt:1:in the container')
    expect(told[2]?.output).toMatch(/^started\n[\s\S]*still running/)
    expect(told[3]?.output).toMatch(/^Refused: 1\d\d tasks .* of "node/)
  })
})

/** A resolver with one session whose model has these turns. */
function talker(turns: readonly unknown[]): string {
  const dir = mkdtempSync(join(tmpdir(), 'resolve-session-'))
  const manifest = {
    name: 'talks',
    version: '1.0.0',
    description: 'Talks',
    command: ['node', 'resolver.ts'],
    container: {},
  }
  writeFileSync(join(dir, 'manifest.json'), JSON.stringify(manifest), { mode: 0o644 })
  writeFileSync(join(dir, 'script.json'), JSON.stringify({ sessions: { '*': turns } }), { mode: 0o644 })
  const program = `import { resolver } from 'resolve-platform/sdk'
    resolver({ async run(ctx) {
      const session = await ctx.sessions.create('work', { model: 'scripted/' + import.meta.dirname + '/script.json' })
      return (await session.run('Go.')).output
    } }).serve()\n`
  writeFileSync(join(dir, 'resolver.ts'), program, { mode: 0o644 })
  chmodSync(dir, 0o755)
  return dir
}
