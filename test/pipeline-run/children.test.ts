/** Branches, child pipelines and dataflow as a person runs them: through the built program, in a worker that can be killed. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { instancePaths } from '../../src/core/store/home.ts'
import { pendingRequests } from '../../src/core/view/story.ts'
import { type Home, newHome } from '../commands/cli.ts'
import { eventsOf, storyOf, until } from '../support/instances.ts'

let place: Home
/** Where commands of pipelines leave their marks. */
let marks: string

beforeEach(() => {
  place = newHome()
  marks = mkdtempSync(join(tmpdir(), 'resolve-marks-'))
})

afterEach(async () => {
  await place.end()
  rmSync(marks, { recursive: true, force: true })
})

const FRAME = 'start [shape=Mdiamond] exit [shape=Msquare]'
const tool = (command: string) => `[shape=parallelogram, tool_command="${command}"]`

async function run(input: Record<string, unknown>, ...flags: string[]) {
  writeFileSync(join(marks, 'input.json'), JSON.stringify(input))
  const words = ['run', 'pipeline', '--executor', 'local', '--input-file', join(marks, 'input.json'), '--json']
  const { code, stdout, stderr } = await place.run(...words, ...flags)
  expect(stdout, stderr).not.toBe('')
  const record = JSON.parse(stdout) as { instance_id: string; status: string; error?: { message: string } }
  return { code, record, id: record.instance_id }
}

interface Result {
  status: string
  reason?: string
  visited: string[]
  context: Record<string, unknown>
}

function fileOf(id: string, path: string): string {
  return readFileSync(join(instancePaths(place.home, id).project, '.resolve/data', path), 'utf8')
}

const resultOf = (id: string) => JSON.parse(fileOf(id, 'result.json')) as Result

interface State {
  nodes: Record<string, { status: string; visits: number }>
  edges: { from: string; to: string; taken: number }[]
}

function stateOf(id: string): State {
  return JSON.parse(readFileSync(join(instancePaths(place.home, id).project, '.resolve/state.json'), 'utf8')) as State
}

function told(id: string, name: string): Record<string, unknown>[] {
  return eventsOf(place.home, id)
    .map(({ event }) => event)
    .filter(({ event_type: type }) => type === `pipeline.${name}`)
    .map(({ data }) => data as Record<string, unknown>)
}

test('branches, a folder, a manager and a fan-in run, and state, events and files tell them', async () => {
  const { code, record, id } = await run({
    graph: `digraph all { ${FRAME} goal="Try it"; start -> fan; fan [shape=component]
      fan -> {left right call} -> meet -> boss -> say -> exit; meet [shape=tripleoctagon]
      left ${tool('echo left')} right ${tool('echo wrong >&2; exit 3')}
      call [shape=folder, dot_file="sub/child.dot", context.who="Ada", outputs="tool.last_line"]
      boss [shape=house, dot_file="sub/child.dot", outputs="tool.last_line"]
      say ${tool('echo $tool.last_line')} }`,
    files: { 'sub/child.dot': `digraph { ${FRAME} start -> hello -> exit; hello ${tool('echo hello $who, $goal')} }` },
    inputs: { who: 'Bob' },
  })
  expect({ code, status: record.status }).toEqual({ code: 0, status: 'completed' })
  const { status, visited, context } = resultOf(id)
  expect({ status, visited }).toEqual({ status: 'success', visited: ['start', 'fan', 'meet', 'boss', 'say', 'exit'] })
  expect(context['tool.last_line']).toBe('hello Bob, Try it')
  expect(fileOf(id, 'graphs/boss.dot')).toContain('echo hello $who')
  expect(context['parallel.results']).toMatchObject([
    { node_id: 'left', status: 'success', response: 'left\n' },
    { node_id: 'right', status: 'fail', failure_reason: expect.stringContaining('wrong') as string },
    { node_id: 'call', status: 'success' },
  ])
  expect(context['parallel.fan_in.best_id']).toBe('call')
  expect(fileOf(id, 'nodes/left/output.txt')).toBe('left\n')
  // Of the child in the branch, and of the child of the manager.
  expect([fileOf(id, 'nodes/hello/output.txt'), fileOf(id, 'nodes/hello-2/output.txt')]).toEqual([
    'hello Ada, Try it\n',
    'hello Bob, Try it\n',
  ])
  const { nodes } = stateOf(id)
  expect(nodes).toMatchObject({
    left: { status: 'completed', visits: 1 },
    right: { status: 'failed' },
    call: { status: 'completed' },
    'call/hello': { status: 'completed' },
    'boss/hello': { status: 'completed' },
  })
  expect(told(id, 'parallel_started')).toMatchObject([{ node_id: 'fan', branch_count: 3 }])
  expect(told(id, 'parallel_completed')).toMatchObject([{ success_count: 2, failure_count: 1 }])
  const completed = told(id, 'node_complete')
  expect(completed.find(({ node_id: node }) => node === 'left')).toMatchObject({ via_parallel: true })
  expect(completed.find(({ node_id: node }) => node === 'say')).not.toHaveProperty('via_parallel')
  expect(told(id, 'subgraph_complete')).toMatchObject([{ node_id: 'call' }, { node_id: 'boss' }])
})

// verifies: S-PIPE-10
test('a pipeline that runs itself is refused before a node runs', async () => {
  const again = `digraph { ${FRAME} start -> mark -> again -> exit; mark ${tool(`touch ${marks}/ran`)}; again [shape=folder, dot_file="b.dot"] }`
  const { code, record, id } = await run({ graph: again, file: 'a.dot', files: { 'b.dot': again } })
  expect({ code: code === 0, status: record.status }).toEqual({ code: false, status: 'failed' })
  expect(resultOf(id).reason).toContain('runs a pipeline within itself: b.dot → b.dot')
  expect(existsSync(join(marks, 'ran'))).toBe(false)
})

// verifies: S-PIPE-11
test('dataflow: outputs reach what depends on them, and the last one is the result', async () => {
  const { code, id } = await run({
    graph: 'digraph { Plan [session="Plan it"]; Plan -> {Left Right} -> Join; Join [session="Join them"] }',
    script: {
      version: 1,
      replies: { Plan: ['the plan'], Left: ['the left'], Right: ['the right'], Join: ['all of it'] },
    },
  })
  expect(code).toBe(0)
  expect(fileOf(id, 'nodes/Join/prompt.md')).toMatch(/the left[\s\S]*the right/)
  expect(fileOf(id, 'nodes/Left/prompt.md')).toContain('the plan')
  expect(resultOf(id)).toMatchObject({ status: 'success', context: { last_response: 'all of it' } })
})

// verifies: S-PIPE-09
test('a worker that is killed within branches goes on: what had ended is not run again', async () => {
  const mark = (name: string) => `echo ${name} >> ${marks}/ran`
  const wait = `until [ -e ${marks}/go ]; do sleep 0.05; done`
  const source = {
    graph: `digraph { ${FRAME} start -> before -> fan -> {quick call} -> meet -> exit; fan [shape=component]
      before ${tool(mark('before'))} quick ${tool(mark('quick'))} meet [shape=tripleoctagon]
      call [shape=folder, dot_file="child.dot"] }`,
    files: {
      'child.dot': `digraph { ${FRAME} start -> first -> slow -> exit
        first ${tool(mark('first'))} slow ${tool(`${mark('slow')}; ${wait}; ${mark('done')}`)} }`,
    },
  }
  writeFileSync(join(marks, 'input.json'), JSON.stringify(source))
  const words = ['run', 'pipeline', '--executor', 'local', '--input-file', join(marks, 'input.json')]
  const started = await place.run(...words, '--detach', '--json')
  const { instance_id: id } = JSON.parse(started.stdout) as { instance_id: string }
  const ran = () => (existsSync(join(marks, 'ran')) ? readFileSync(join(marks, 'ran'), 'utf8').trim().split('\n') : [])
  const log = join(instancePaths(place.home, id).project, '.resolve/pipeline.jsonl')
  await expect
    .poll(() => ran().includes('slow') && readFileSync(log, 'utf8').includes('"node":"quick"'), { timeout: 60_000 })
    .toBe(true)
  const worker = JSON.parse(readFileSync(instancePaths(place.home, id).worker, 'utf8')) as { process: { pid: number } }
  process.kill(worker.process.pid, 'SIGKILL')
  await until(place.home, id, (story) => story.status === 'paused')
  writeFileSync(join(marks, 'go'), '')
  const resumed = await place.run('instance', 'resume', id, '--json')
  expect(resumed).toMatchObject({ code: 0 })
  expect(storyOf(place.home, id).status).toBe('completed')
  expect(ran().toSorted()).toEqual(['before', 'done', 'first', 'quick', 'slow', 'slow'])
  expect(resultOf(id)).toMatchObject({
    status: 'success',
    visited: ['start', 'before', 'fan', 'meet', 'exit'],
    context: {
      'parallel.results': [
        { node_id: 'quick', status: 'success' },
        { node_id: 'call', status: 'success' },
      ],
    },
  })
  // What had ended in the branch and the child that were cut is still told.
  expect(stateOf(id).nodes).toMatchObject({
    before: { status: 'completed', visits: 1 },
    quick: { status: 'completed', visits: 1 },
    'call/first': { status: 'completed', visits: 1, handler: 'tool' },
    'call/slow': { status: 'completed', visits: 1 },
  })
  expect(stateOf(id).edges).toContainEqual({ from: 'call/first', to: 'call/slow', taken: 1 })
  // The second execution of a node that was cut has the directory of the first.
  expect(readdirSync(join(instancePaths(place.home, id).project, '.resolve/data/nodes')).toSorted()).toEqual([
    'before',
    'call',
    'fan',
    'first',
    'meet',
    'quick',
    'slow',
  ])
})

// verifies: S-PIPE-10
test('questions of children have ids of their own', async () => {
  const asking = `digraph { ${FRAME} start -> ask -> exit; ask [shape=hexagon, label="Go on?"]; ask -> exit [label="No"] }`
  const { code, id } = await run(
    {
      graph: `digraph { ${FRAME} start -> fan -> {one two} -> exit; fan [shape=component]
        one [shape=folder, dot_file="ask.dot"]; two [shape=folder, dot_file="ask.dot"] }`,
      files: { 'ask.dot': asking },
      auto_approve: false,
    },
    '--on-input',
    'leave',
  )
  expect(code).toBe(8)
  await until(place.home, id, (story) => pendingRequests(story).length === 2)
  const asked = pendingRequests(storyOf(place.home, id)).map((request) => request.id)
  expect(asked.toSorted()).toEqual(['ask', 'ask-2'])
  for (const request of ['ask', 'ask-2'])
    expect(await place.run('instance', 'answer', id, request, '-i', 'choice=exit')).toMatchObject({ code: 0 })
  await place.reaches(id, 'completed')
})

test('a question in a branch that is no longer needed is closed, and its node is told as skipped', async () => {
  const { id } = await run({
    graph: `digraph { ${FRAME} start -> fan -> {quick ask} -> exit; fan [shape=component, join_policy=first_success]
      quick ${tool('until grep -q interview_started $RESOLVE_DIR/events.jsonl; do sleep 0.05; done')}
      ask [shape=hexagon, label="Well?"]; ask -> exit [label="No"] }`,
  })
  // The command may have left while the question was open.
  await place.reaches(id, 'completed')
  expect(pendingRequests(storyOf(place.home, id))).toEqual([])
  expect(stateOf(id)).toMatchObject({
    active_node: null,
    nodes: { quick: { status: 'completed' }, ask: { status: 'skipped' }, fan: { status: 'completed' } },
  })
})
