/**
 * Workers and hosts killed with -9 while a pipeline runs: what had ended is not run again, and the run comes to the same end
 * (docs/pipelines.md, A run; reliability). RESOLVE_ALL_KILLS=1 kills at every node.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { instancePaths } from '../../src/core/store/home.ts'
import { readOwner } from '../../src/core/store/owners.ts'
import { until } from '../support/instances.ts'
import { type Bench, newBench, scriptOf } from './running.ts'

let bench: Bench

beforeEach(() => {
  bench = newBench()
})

afterEach(async () => {
  await bench.end()
})

/** A command that waits for its gate, and tells that it ran. */
const held = (name: string) =>
  `${name} [shape=parallelogram, tool_command="touch $gates/at-${name}; while [ ! -e $gates/go-${name} ]; do sleep 0.02; done; echo ${name} >> effects; echo last-${name}"]`

const GRAPH = `digraph killed {
  params = "gates"
  start [shape=Mdiamond]
  exit [shape=Msquare]
  ${['first', 'left', 'right', 'inner', 'last'].map(held).join('\n  ')}
  think [prompt="x"]
  fan [shape=component]
  meet [shape=tripleoctagon]
  call [shape=folder, dot_file="child.dot"]
  start -> first -> think
  think -> first [condition="outcome=again"]
  think -> fan [condition="outcome=on"]
  fan -> {left right} -> meet -> call -> last -> exit
}`

const CHILD = `digraph child {
  start [shape=Mdiamond]
  exit [shape=Msquare]
  ${held('inner')}
  start -> inner -> exit
}`

/** In the order in which a run passes them. */
const GATES = ['first', 'left', 'right', 'inner', 'last']
const KILLED_AT = process.env['RESOLVE_ALL_KILLS'] === '1' ? GATES : ['right', 'inner']

async function begun(): Promise<string> {
  bench.write({
    'child.dot': CHILD,
    'script.json': scriptOf({ think: ['{"outcome": "again"}', '{"outcome": "on"}'] }),
  })
  return await bench.begin(GRAPH, '-i', `gates=${bench.folder}`, '--script', 'script.json')
}

async function reached(gate: string): Promise<void> {
  await expect.poll(() => existsSync(join(bench.folder, `at-${gate}`)), { timeout: 60_000 }).toBe(true)
}

function open(gate: string): void {
  writeFileSync(join(bench.folder, `go-${gate}`), '')
}

const ENDED = {
  status: 'completed',
  visited: ['start', 'first', 'think', 'first', 'think', 'fan', 'meet', 'call', 'last', 'exit'],
  context: { 'tool.last_line': 'last-last', 'parallel.fan_in.best_id': 'left' },
}

function effectsOf(id: string): string[] {
  return readFileSync(join(bench.workspace(id), 'effects'), 'utf8')
    .trimEnd()
    .split('\n')
}

function expectEnded(id: string): void {
  expect(effectsOf(id)).toEqual(['first', 'first', 'left', 'right', 'inner', 'last'])
  expect(bench.nodes(id)).toMatchObject({
    first: { visits: 2, status: 'completed' },
    think: { visits: 2 },
    left: { visits: 1, status: 'completed' },
    right: { visits: 1, status: 'completed' },
    'call/inner': { visits: 1, status: 'completed', handler: 'tool' },
    last: { visits: 1 },
  })
  expect(bench.events(id, 'start', 'complete')).toHaveLength(2)
}

// verifies: R58
test('its worker is killed in a branch and in a child, and the run is resumed: what had ended is not run again, what was cut is', async () => {
  const id = await begun()
  for (const gate of GATES) {
    await reached(gate)
    if (KILLED_AT.includes(gate)) {
      const { pid } = (
        JSON.parse(readFileSync(instancePaths(bench.place.home, id).worker, 'utf8')) as { process: { pid: number } }
      ).process
      process.kill(pid, 'SIGKILL')
      await until(bench.place.home, id, ({ status }) => status === 'paused')
      expect((await bench.place.run('instance', 'resume', id, '--detach')).code).toBe(0)
    }
    open(gate)
    await expect.poll(() => effectsOf(id), { timeout: 60_000 }).toContain(gate)
  }
  await until(bench.place.home, id, ({ status }) => status === 'completed')
  expect(bench.result(id)).toMatchObject({ ...ENDED, status: 'success' })
  expectEnded(id)
})

test('its host is killed: the run goes on without it, and another host takes it over', async () => {
  const id = await begun()
  for (const gate of GATES) {
    await reached(gate)
    if (gate === 'left') {
      const pid = readOwner(instancePaths(bench.place.home, id).owners)?.process.pid ?? 0
      process.kill(pid, 'SIGKILL')
      await expect.poll(() => existsSync(`/proc/${pid}/exe`)).toBe(false)
    }
    open(gate)
    await expect.poll(() => effectsOf(id), { timeout: 60_000 }).toContain(gate)
  }
  expect((await bench.place.run('instance', 'watch', id)).code).toBe(0)
  expect(await bench.followed(id)).toMatchObject(ENDED)
  expectEnded(id)
})

test('a stop ends what its commands started', async () => {
  bench.write({})
  const id = await bench.begin(
    `digraph stopped {
      start [shape=Mdiamond]
      exit [shape=Msquare]
      run [shape=parallelogram, tool_command="setsid sleep 600 & echo $! > $gates/pid; touch $gates/at-run; sleep 600"]
      start -> run -> exit
    }`,
    ...['-i', `gates=${bench.folder}`],
  )
  await reached('run')
  const pid = readFileSync(join(bench.folder, 'pid'), 'utf8').trim()
  expect((await bench.place.run('instance', 'stop', id)).code).toBe(0)
  await bench.place.reaches(id, 'cancelled')
  await expect.poll(() => existsSync(`/proc/${pid}/exe`)).toBe(false)
})
