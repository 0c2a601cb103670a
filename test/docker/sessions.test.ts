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
})
