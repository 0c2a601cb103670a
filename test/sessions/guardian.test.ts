/** The guardian with real processes: what it counts, refuses, warns of and ends (spec, Limits). */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { foldSpace, Guardian, type GuardianNote } from '../../src/sessions/guardian/guardian.ts'
import { isTestRunner } from '../../src/sessions/guardian/tasks.ts'
import { bench } from './calls.ts'

/** A process of the worker with this many tasks. */
async function withTasks(dir: string, tasks: number): Promise<void> {
  const program = `const { Worker } = require('node:worker_threads')
    for (let at = 0; at < ${tasks}; at += 1) new Worker('setInterval(() => {}, 1e9)', { eval: true })
    setTimeout(() => console.log('ready'), 0)`
  const child = spawn(process.execPath, ['-e', program], { env: { PATH: process.env['PATH'], RESOLVE_DIR: dir } })
  onTestFinished(() => void child.kill('SIGKILL'))
  await new Promise((resolve) => child.stdout.once('data', resolve))
  while (threadsOf(child.pid) < tasks) await sleep(20)
}

async function withProcesses(dir: string, processes: number): Promise<void> {
  const command = `for n in $(seq ${processes}); do sleep 1000 & done; echo ready; wait`
  const child = spawn('bash', ['-c', command], { env: { PATH: process.env['PATH'], RESOLVE_DIR: dir }, detached: true })
  onTestFinished(() => void process.kill(-(child.pid ?? 0), 'SIGKILL'))
  await new Promise((resolve) => child.stdout.once('data', resolve))
}

function threadsOf(pid = 0): number {
  return Number(/^Threads:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
}

// verifies: S-LIM-02
describe.skipIf(process.platform !== 'linux')('tasks', () => {
  test.each([135, 205])('%i: every call is refused but jobs, and the largest group is named', async (tasks) => {
    const { at, run } = bench()
    await withProcesses(at.dir, tasks)
    const [shell, jobs] = await run([
      ['shell', { command: 'echo ran' }],
      ['jobs', { action: 'list' }],
    ])
    expect(shell).toMatchObject({ isError: true, output: expect.stringMatching(/^Refused: \d+ tasks .* of "sleep/) })
    expect(jobs).toMatchObject({ isError: false, output: expect.stringContaining('There are no jobs.') })
    expect(at.linesOf('s1', 'guardian')[0]).toMatchObject({ rule: 'tasks', action: 'refused' })
  })

  test('over 64 the call runs and its result says how many there are', async () => {
    const { at, run } = bench()
    await withTasks(at.dir, 70)
    const [shell] = await run([['shell', { command: 'echo ran' }]])
    expect(shell).toMatchObject({ isError: false, output: expect.stringMatching(/^ran\n[\s\S]*\d+ tasks/) })
  })
})

// verifies: S-LIM-02
test('the sixth equal call within a minute is refused, however it is spaced; others and later ones run', async () => {
  const { at, run } = bench()
  const spaced = [
    'echo  x >> ran',
    ' echo x >> ran',
    'echo x  >>  ran ',
    'echo x >> ran',
    'echo x >> ran',
    'echo   x >> ran',
  ]
  const results = await run([
    ...spaced.map((command, at) => ['shell', { command, description: String(at) }] as const),
    ['shell', { command: 'echo "x  y" >> ran' }],
  ])
  expect(results.map(({ isError }) => isError)).toEqual([false, false, false, false, false, true, false])
  expect(results[5]?.output).toContain('ran 5 times within 60 s')
  expect(readFileSync(join(at.workspace, 'ran'), 'utf8').split('\n')).toHaveLength(7)
  let now = 0
  const guardian = new Guardian({ resolveDir: at.dir, isContainer: false, now: () => now })
  const call = { session: 's', tool: 'shell', input: { command: 'ls' }, cwd: '/' }
  const check = () => guardian.check(call).map(({ action }) => action)
  for (let times = 0; times < 5; times += 1) expect(check()).toEqual([])
  expect(check()).toEqual(['refused'])
  now = 61_000
  expect(check()).toEqual([])
})

// verifies: S-LIM-02
test.skipIf(process.platform !== 'linux')(
  'a test runner that a call left behind is ended, with its children; others are not',
  async () => {
    const { at, run } = bench()
    mkdirSync(join(at.workspace, 'bin'))
    const pytest = join(at.workspace, 'bin/pytest')
    writeFileSync(
      pytest,
      '#!/usr/bin/env node\nrequire("node:child_process").spawn("sleep", ["301"])\nrequire("node:fs").writeFileSync("up-1", "")\nsetInterval(() => {}, 1e9)\n',
      { mode: 0o755 },
    )
    writeFileSync(
      join(at.workspace, 'slow.test.js'),
      'require("node:fs").writeFileSync("up-2", "")\nrequire("node:test").test("slow", () => new Promise(() => setInterval(() => {}, 1e9)))\n',
    )
    const left =
      'setsid ./bin/pytest > /dev/null 2>&1 & echo $! >> pids; nohup setsid node --test slow.test.js > /dev/null 2>&1 & echo $! >> pids; sleep 302 & echo $! >> pids; until [ -e up-1 ] && [ -e up-2 ]; do sleep 0.05; done'
    const results = await run([
      ['shell', { command: left }],
      ['shell', { command: 'echo next' }],
    ])
    const [runner, nodeTest, sleeper] = readFileSync(join(at.workspace, 'pids'), 'utf8').trim().split('\n').map(Number)
    onTestFinished(() => void process.kill(sleeper as number, 'SIGKILL'))
    expect(results[1]?.output).toMatch(/^next\n[\s\S]*Ended test runners/)
    await gone(runner)
    await gone(nodeTest)
    expect(existsSync(`/proc/${sleeper}/exe`)).toBe(true)
    expect(at.linesOf('s1', 'guardian')).toMatchObject([{ rule: 'orphans', action: 'ended' }])
  },
)

// verifies: S-LIM-02
test.skipIf(process.platform !== 'linux')(
  'a test that another session runs, and one that runs as a job, are no orphans',
  async () => {
    const { at, run } = bench()
    const program = (name: string) =>
      `require("node:test").test("slow", async () => { require("node:fs").writeFileSync("up-${name}", ""); while (!require("node:fs").existsSync("go")) await new Promise((r) => setTimeout(r, 20)) })\n`
    for (const name of ['call', 'job']) writeFileSync(join(at.workspace, `${name}.test.js`), program(name))
    const ups = 'until [ -e up-call ] && [ -e up-job ]; do sleep 0.05; done'
    const [under, others] = await Promise.all([
      run([['shell', { command: 'node --test call.test.js' }]]),
      run([
        ['shell', { command: 'node --test job.test.js; echo code $? > code; mv code down', background: true }],
        ['shell', { command: ups }],
        ['shell', { command: 'echo look' }],
        ['shell', { command: 'touch go' }],
        ['shell', { command: 'until [ -e down ]; do sleep 0.05; done; cat down' }],
      ]),
    ])
    expect(under).toMatchObject([{ isError: false, output: expect.stringContaining('[exit code 0]') }])
    expect(others.map(({ isError }) => isError)).toEqual([false, false, false, false, false])
    expect(others[4]?.output).toContain('code 0')
    expect([...at.linesOf('s1', 'guardian'), ...at.linesOf('s2', 'guardian')]).toEqual([])
  },
)

async function gone(pid = 0): Promise<void> {
  while (existsSync(`/proc/${pid}/exe`)) await sleep(20)
}

test.each([
  [['pytest', '-q'], true],
  [['/usr/bin/python3', '-m', 'pytest', '-n', '2'], true],
  [['python3.12', '-m', 'unittest'], true],
  [['python3', '/venv/bin/pytest'], true],
  [['python3', 'latest.py'], false],
  [['python3', 'run.py', '-m', 'pytest'], false],
  [['node', '--test', 'a.js'], true],
  [['node', '--test-reporter=tap', '--test'], true],
  [['/usr/bin/node', '/app/node_modules/vitest/vitest.mjs', 'run'], true],
  [['node (vitest 2)'], true],
  [['node', 'node_modules/.bin/jest'], true],
  [['node', 'contest.js', '--test'], false],
  [['node', 'test.js'], false],
  [['vim', 'pytest.ini'], false],
  [['grep', '-r', 'pytest'], false],
  [[], false],
])('%j is a test runner: %s', (argv, is) => {
  expect(isTestRunner({ argv })).toBe(is)
})

test.each([
  ['  a   b ', 'a b'],
  ["a 'b  c'", "a 'b  c'"],
  ['a "b  c"   d', 'a "b  c" d'],
  ['a\\  b', 'a\\  b'],
  ['a\n\nb', 'a b'],
])('%j is folded to %j', (command, folded) => {
  expect(foldSpace(command)).toBe(folded)
})

test('a look that fails allows the call, and is told once', () => {
  const notes: GuardianNote[] = []
  const broken = {
    resolveDir: '/gone',
    isContainer: false,
    onFirst: (note: GuardianNote) => notes.push(note),
    now: () => {
      throw new RangeError('no clock')
    },
  }
  const guardian = new Guardian(broken)
  const call = { session: 's', tool: 'shell', input: { command: 'ls' }, cwd: '/' }
  expect(guardian.check(call)).toMatchObject([{ rule: 'look', action: 'warned' }])
  expect(guardian.check(call)).toEqual([])
  expect(notes).toHaveLength(1)
})
