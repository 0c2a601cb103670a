/**
 * Workers and hosts killed with -9 right after a line of the checkpoint: the run that goes on ends as one that was left alone (docs/pipelines.md, A run;
 * reliability). RESOLVE_ALL_KILLS=1 kills at every line, each of the three ways.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isTerminal } from '../../src/core/protocol/status.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { readOwner } from '../../src/core/store/owners.ts'
import { eventsOf, storyOf } from '../support/instances.ts'
import { type Bench, newBench, scriptOf } from './running.ts'

let bench: Bench

beforeEach(() => {
  bench = newBench()
})

afterEach(async () => {
  await bench.end()
})

/** Takes long enough to be killed within, and leaves one line a visit that ended. */
const slow = (name: string, more = '') =>
  `${name} [shape=parallelogram, tool_command="sleep 0.1; echo ${name} >> effects; echo last-${name}"${more}]`

const GRAPH = `digraph checkpoints {
  start [shape=Mdiamond]
  exit [shape=Msquare]
  ${slow('first')}
  think [prompt="Think."]
  again [prompt="Look."]
  fan [shape=component]
  ${['left', 'right', 'last'].map((name) => slow(name)).join('\n  ')}
  meet [shape=tripleoctagon]
  call [shape=folder, dot_file="child.dot"]
  start -> first -> think
  think -> first [condition="outcome=again"]
  think -> fan [condition="outcome=on"]
  fan -> {left right} -> meet -> again -> call -> last -> exit
}`

const CHILD = `digraph child {
  start [shape=Mdiamond]
  exit [shape=Msquare]
  ${slow('inner')}
  start -> inner -> exit
}`

const VISITED = ['start', 'first', 'think', 'first', 'think', 'fan', 'meet', 'again', 'call', 'last', 'exit']

/** Each adds a line when it ends: nodes of the walk, of both branches and of the child. */
const NODES = [...VISITED, 'left', 'right', 'start', 'inner', 'exit'].sort()

const WAYS = ['worker', 'host', 'both'] as const
const ALL = NODES.slice(1).flatMap((_, at) => WAYS.map((way) => [way, at + 1] as const))
const CHOSEN = [
  ['worker', 7],
  ['host', 3],
  ['both', 15],
] as const

function logOf(id: string): string {
  return join(instancePaths(bench.place.home, id).project, '.resolve', 'pipeline.jsonl')
}

function linesOf(id: string): string[] {
  return existsSync(logOf(id)) ? readFileSync(logOf(id), 'utf8').split('\n').slice(0, -1) : []
}

/** The nodes that ended, in no order: branches run side by side. */
function nodesIn(lines: readonly string[]): string[] {
  return lines.flatMap((text) => (JSON.parse(text) as { node?: string }).node ?? []).sort()
}

function workerOf(id: string): number {
  const { process: own } = JSON.parse(readFileSync(instancePaths(bench.place.home, id).worker, 'utf8')) as {
    process: { pid: number }
  }
  return own.pid
}

/** Kills as soon as the checkpoint has so many lines; what it has then. */
async function killAt(id: string, way: (typeof WAYS)[number], line: number): Promise<string[]> {
  await expect
    .poll(
      () => {
        const found = nodesIn(linesOf(id)).length
        return found >= line || isTerminal(storyOf(bench.place.home, id).status)
      },
      { timeout: 60_000, interval: 5 },
    )
    .toBe(true)
  const host = readOwner(instancePaths(bench.place.home, id).owners)?.process.pid as number
  const before = linesOf(id)
  for (const pid of [...(way === 'host' ? [] : [workerOf(id)]), ...(way === 'worker' ? [] : [host])]) kill(pid)
  if (way !== 'worker') await expect.poll(() => existsSync(`/proc/${host}/exe`)).toBe(false)
  return before
}

/** It may have ended by itself. */
function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // Then there is nothing to kill.
  }
}

/** Until it ends, with whatever a person would do: watch it, and resume it where its worker was lost. */
async function broughtToItsEnd(id: string): Promise<void> {
  for (;;) {
    await bench.place.run('instance', 'watch', id, '--json')
    const { status } = storyOf(bench.place.home, id)
    if (isTerminal(status)) return
    if (status === 'paused') expect((await bench.place.run('instance', 'resume', id, '--detach')).code).toBe(0)
    await sleep(20)
  }
}

// verifies: S-PIPE-09
test.each(process.env['RESOLVE_ALL_KILLS'] === '1' ? ALL : CHOSEN)(
  'killed (%s) at line %i of its checkpoint, a run ends as one that was left alone',
  { timeout: 120_000 },
  async (way, line) => {
    bench.write({
      'child.dot': CHILD,
      'script.json': scriptOf({ think: ['{"outcome": "again"}', '{"outcome": "on"}'], again: ['I looked.'] }),
    })
    const id = await bench.begin(GRAPH, '--script', 'script.json')
    const before = await killAt(id, way, line)
    await broughtToItsEnd(id)
    expect(bench.result(id)).toMatchObject({ status: 'success', visited: VISITED })
    // What the checkpoint had, it has still, and nothing stands in it twice.
    const after = linesOf(id)
    expect(after.slice(0, before.length)).toEqual(before)
    expect(nodesIn(after)).toEqual(NODES)
    // A command that was cut runs again; one that had ended never does.
    const effects = readFileSync(join(bench.workspace(id), 'effects'), 'utf8')
      .trimEnd()
      .split('\n')
    const counts = (name: string) => effects.filter((one) => one === name).length
    const cut = ['first', 'left', 'right', 'inner', 'last'].reduce(
      (more, name) => more + counts(name) - (name === 'first' ? 2 : 1),
      0,
    )
    expect(cut).toBeGreaterThanOrEqual(0)
    expect(cut).toBeLessThanOrEqual(way === 'host' ? 0 : 2)
    expect(bench.nodes(id)).toMatchObject({
      first: { visits: 2, status: 'completed' },
      left: { visits: 1, status: 'completed' },
      'call/inner': { visits: 1, status: 'completed' },
    })
    const told = eventsOf(bench.place.home, id).map(({ event }) => event.event_type)
    for (const once of ['pipeline.start', 'pipeline.complete'])
      expect(told.filter((type) => type === once)).toEqual([once])
    expect(storyOf(bench.place.home, id).status).toBe('completed')
  },
)
