/** Pipelines in Docker: a whole run in a container that is killed, and commands in sandboxes (docs/pipelines.md, Nodes, A run). */
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { instancePaths } from '../../src/core/store/home.ts'
import { readOwner } from '../../src/core/store/owners.ts'
import { containersOf, describeWithDocker, docker, removeContainersOf, testImage } from '../support/docker.ts'
import { storyOf, until } from '../support/instances.ts'
import { type Bench, newBench, scriptOf } from './running.ts'

let bench: Bench

beforeEach(() => {
  bench = newBench()
  chmodSync(bench.folder, 0o755)
})

afterEach(async () => {
  await bench.end()
})

/** Waits in the workspace of the instance, which a test sees. */
const held = (name: string) =>
  `${name} [shape=parallelogram, tool_command="touch at-${name}; while [ ! -e go-${name} ]; do sleep 0.02; done; echo ${name} >> effects; echo last-${name}"]`

const GRAPH = `digraph contained {
  start [shape=Mdiamond]
  exit [shape=Msquare]
  ${['first', 'left', 'right', 'last'].map(held).join('\n  ')}
  think [prompt="x"]
  fan [shape=component]
  meet [shape=tripleoctagon]
  start -> first -> think -> fan -> {left right} -> meet -> last -> exit
}`

const env = () => ({ RESOLVE_WORKER_IMAGE: testImage(), RESOLVE_EXECUTOR: 'docker' })

async function reached(id: string, gate: string): Promise<void> {
  await expect.poll(() => existsSync(join(bench.workspace(id), `at-${gate}`)), { timeout: 60_000 }).toBe(true)
}

function open(id: string, gate: string): void {
  writeFileSync(join(bench.workspace(id), `go-${gate}`), '')
}

const command = (...words: string[]) => bench.place.with({ env: env(), cwd: bench.folder }, ...words)

describeWithDocker('in a container', { timeout: 120_000 }, () => {
  afterEach(() => removeContainersOf(bench.place.home))

  // verifies: S-PIPE-09
  test('worker and host are killed, and the run ends as one that was left alone', async () => {
    bench.write({ 'main.dot': GRAPH, 'script.json': scriptOf({ think: ['thought'] }) })
    const begun = await command(
      'pipeline',
      'run',
      'main.dot',
      '--script',
      'script.json',
      '--executor',
      'docker',
      '--detach',
      '--json',
    )
    expect(begun.code, begun.stderr).toBe(0)
    const { instance_id: id } = JSON.parse(begun.stdout) as { instance_id: string }
    await reached(id, 'first')
    const host = readOwner(instancePaths(bench.place.home, id).owners)?.process.pid as number
    process.kill(host, 'SIGKILL')
    await expect.poll(() => existsSync(`/proc/${host}/exe`)).toBe(false)
    open(id, 'first')
    await reached(id, 'right')
    const [worker] = await containersOf(id)
    await docker('kill', worker as string)
    const watched = await command('instance', 'watch', id, '--json')
    expect(storyOf(bench.place.home, id).status, watched.stderr).toBe('paused')
    expect((await command('instance', 'resume', id, '--detach')).code).toBe(0)
    for (const gate of ['left', 'right', 'last']) open(id, gate)
    await until(bench.place.home, id, ({ status }) => status === 'completed')
    expect(bench.result(id)).toMatchObject({
      status: 'success',
      visited: ['start', 'first', 'think', 'fan', 'meet', 'last', 'exit'],
    })
    const effects = readFileSync(join(bench.workspace(id), 'effects'), 'utf8')
      .trimEnd()
      .split('\n')
    expect(effects.sort()).toEqual(['first', 'last', 'left', 'right'])
    expect(await containersOf(id)).toEqual([])
  })
})

describeWithDocker('sandbox=true', { timeout: 120_000 }, () => {
  afterEach(() => removeContainersOf(bench.place.home))

  const sandboxed = (tool: string, more = '') => `digraph sandboxed {
    goal = "the goal"
    start [shape=Mdiamond]
    exit [shape=Msquare]
    box [shape=parallelogram, sandbox=true, tool_env="goal", tool_command="${tool}"${more}]
    start -> box -> exit
  }`

  test('runs a command in a container of its own, without files or network of the worker', async () => {
    bench.write({})
    const ran = await bench.with(
      env(),
      sandboxed('echo uid=$(id -u) goal=$GOAL files=$(ls | wc -l) net=$(ls /sys/class/net | tr \\\\n ,); hostname'),
    )
    expect(ran.status, ran.stderr).toBe('completed')
    expect(bench.data(ran.id, 'nodes/box/output.txt')).toMatch(
      /^uid=(?!0 )\d+ goal=the goal files=0 net=lo,?\n[0-9a-f]{12}\n$/,
    )
    expect(await containersOf(ran.id)).toEqual([])
  })

  test('tells the exit code and the output of one that fails', async () => {
    bench.write({})
    const ran = await bench.with(env(), sandboxed('echo out; echo wrong >&2; exit 4'))
    expect(ran.code).toBe(1)
    expect(ran.reason).toContain('exit code 4: wrong')
    expect(bench.data(ran.id, 'nodes/box/output.txt')).toBe('out\n\n[stderr]\nwrong\n')
  })

  test('a stop, and a kill of worker and host, leave no sandbox', async () => {
    bench.write({ 'main.dot': sandboxed('sleep 600') })
    const begin = async () => {
      const told = await command('pipeline', 'run', 'main.dot', '--detach', '--json')
      const { instance_id: id } = JSON.parse(told.stdout) as { instance_id: string }
      await expect.poll(() => containersOf(id), { timeout: 60_000 }).toHaveLength(1)
      return id
    }
    const stopped = await begin()
    expect((await command('instance', 'stop', stopped)).code).toBe(0)
    await bench.place.reaches(stopped, 'cancelled')
    expect(await containersOf(stopped)).toEqual([])
    const killed = await begin()
    const paths = instancePaths(bench.place.home, killed)
    const { process: worker } = JSON.parse(readFileSync(paths.worker, 'utf8')) as { process: { pid: number } }
    for (const pid of [worker.pid, readOwner(paths.owners)?.process.pid as number]) process.kill(pid, 'SIGKILL')
    await command('instance', 'watch', killed, '--json')
    expect(storyOf(bench.place.home, killed).status).toBe('paused')
    await expect.poll(() => containersOf(killed), { timeout: 60_000 }).toEqual([])
  })
})

test('sandbox=true without an engine fails its node with what to do', async () => {
  bench.write({})
  const away = { DOCKER_HOST: 'unix:///nowhere/docker.sock' }
  const ran = await bench.with(
    away,
    'digraph d { start [shape=Mdiamond] exit [shape=Msquare] box [shape=parallelogram, sandbox=true, tool_command="echo x"] start -> box -> exit }',
  )
  expect(ran.code).toBe(1)
  expect(ran.reason).toContain('Docker')
})
