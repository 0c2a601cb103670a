/** Sessions without a model: replies of a script, outcomes by rule; verdicts, goal gates, loops and children (docs/pipelines.md, Outcomes; Gates and loops). */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Bench, newBench, scriptOf } from './running.ts'

let bench: Bench

beforeEach(() => {
  bench = newBench()
})

afterEach(async () => {
  await bench.end()
})

const GATED = `digraph gated {
  goal = "Ship it"
  start [shape=Mdiamond]
  exit [shape=Msquare]
  work [prompt="$goal: $review.findings"]
  review [prompt="Review", goal_gate=true, retry_target=work]
  route [shape=diamond]
  fix [shape=tab, prompt="@fix.txt"]
  start -> work -> review -> route
  route -> exit [condition="outcome=success"]
  route -> fix [label="[R] Revise"]
  route -> exit [label="Give up", weight=-1]
  fix -> exit
}`

test('replies come in their order; verdicts route, and a gate that is not satisfied sends the run back', async () => {
  bench.write({
    'fix.txt': 'Fix what "$review.findings" says.',
    'script.json': scriptOf({
      work: [{ text: 'First.', files: { 'out/one.txt': '1' } }, 'Second.'],
      review: [
        'I looked.\n```json\n{"outcome": "fail", "preferred_label": "revise", "context_updates": {"review.findings": "a hole"}, "notes": "bad"}\n```',
        '{"outcome": "success"}',
      ],
      fix: 'Fixed.',
    }),
  })
  const ran = await bench.run(GATED, '--script', 'script.json')
  expect(ran, ran.stderr).toMatchObject({ code: 0, status: 'completed' })
  expect(ran.visited).toEqual(['start', 'work', 'review', 'route', 'fix', 'work', 'review', 'route', 'exit'])
  expect(bench.data(ran.id, 'nodes/fix/prompt.md')).toContain('Fix what "a hole" says.')
  expect(bench.data(ran.id, 'nodes/work/prompt.md')).toContain('Ship it: $review.findings')
  expect(bench.data(ran.id, 'nodes/work-2/prompt.md')).toContain('Ship it: a hole')
  expect(bench.data(ran.id, 'nodes/work-2/response.md')).toBe('Second.')
  expect(existsSync(join(bench.workspace(ran.id), 'out/one.txt'))).toBe(true)
  expect(bench.events(ran.id, 'goal_gate_check')).toMatchObject([{ data: { target: 'work' } }])
  expect(bench.nodes(ran.id)).toMatchObject({ work: { visits: 2, dirs: ['work', 'work-2'] } })
})

test('a gate fails closed where the answer is prose; --prose-gates pass takes it', async () => {
  const graph = `digraph prose {
    start [shape=Mdiamond]
    exit [shape=Msquare]
    review [prompt="Review", goal_gate=true, max_retries=1]
    start -> review -> exit
  }`
  bench.write({ 'script.json': scriptOf({ review: ['It is good.', 'It is really good.'] }) })
  const [closed, open] = [
    await bench.run(graph, '--script', 'script.json'),
    await bench.run(graph, '--script', 'script.json', '--prose-gates', 'pass'),
  ]
  expect(closed).toMatchObject({ code: 1, status: 'failed' })
  expect(JSON.stringify(closed.error)).toContain('review')
  expect(bench.nodes(closed.id)['review']).toMatchObject({ status: 'failed', attempts: 2 })
  expect(open).toMatchObject({ code: 0, visited: ['start', 'review', 'exit'] })
})

test('retries end with an edge for them, restarts begin again with the context, a word routes', async () => {
  const graph = `digraph loops {
    start [shape=Mdiamond]
    exit [shape=Msquare]
    flaky [prompt="x", max_retries=1]
    word [prompt="y $iteration"]
    flaky -> word [condition="outcome=retry"]
    start -> flaky -> exit
    word -> flaky [condition="outcome=again", loop_restart=true]
    word -> exit [condition="outcome=approve"]
  }`
  const retry = { text: '{"outcome": "retry", "notes": "busy"}' }
  bench.write({
    'script.json': scriptOf({
      flaky: [retry, retry, retry, retry],
      word: ['{"outcome": "again", "context_updates": {"kept": "yes"}}', '{"outcome": "approve"}'],
    }),
  })
  const ran = await bench.run(graph, '--script', 'script.json')
  expect(ran, ran.stderr).toMatchObject({ code: 0, status: 'completed', visited: ['flaky', 'word', 'exit'] })
  expect(ran.context).toMatchObject({ kept: 'yes' })
  expect(bench.data(ran.id, 'nodes/word-2/prompt.md')).toContain('y 1')
  expect(bench.events(ran.id, 'stage_retrying')).toHaveLength(2)
})

test('a script that has no reply fails the node and says which', async () => {
  const graph = 'digraph d { start [shape=Mdiamond]; exit [shape=Msquare]; a [prompt="x"]; start -> a -> exit }'
  bench.write({ 'script.json': scriptOf({ b: 'x' }) })
  const ran = await bench.run(graph, '--script', 'script.json')
  expect(ran).toMatchObject({ code: 1, status: 'failed' })
  expect(JSON.stringify(ran.error)).toContain('The script has no reply for \\"a\\"')
})

test('branches and children: each has its replies, files and state; outputs come back', async () => {
  bench.write({
    'parts/child.dot': `digraph child {
      goal = "Part of $goal"
      start [shape=Mdiamond]
      exit [shape=Msquare]
      make [prompt="$goal in $suite"]
      start -> make -> exit
    }`,
    'script.json': scriptOf({
      a: ['A1', 'A2'],
      b: '{"outcome": "fail", "failure_reason": "b broke"}',
      'call/make': ['{"outcome": "success", "context_updates": {"made": "it", "own": 1}}'],
    }),
  })
  const ran = await bench.run(
    `digraph family {
      goal = "All"
      start [shape=Mdiamond]
      exit [shape=Msquare]
      fan [shape=component]
      a [prompt="a"]
      b [prompt="b"]
      meet [shape=tripleoctagon]
      call [shape=folder, dot_file="parts/child.dot", context.suite="unit", outputs="made"]
      start -> fan -> {a b} -> meet -> call -> exit
    }`,
    ...['--script', 'script.json'],
  )
  expect(ran, ran.stderr).toMatchObject({ code: 0, visited: ['start', 'fan', 'meet', 'call', 'exit'] })
  expect(ran.context).toMatchObject({ made: 'it', 'parallel.fan_in.best_id': 'a' })
  expect(ran.context).not.toHaveProperty('own')
  expect(bench.data(ran.id, 'nodes/make/prompt.md')).toContain('Part of All in unit')
  expect(bench.nodes(ran.id)).toMatchObject({
    b: { status: 'failed', reason: 'b broke' },
    'call/make': { status: 'completed', handler: 'codergen', visits: 1 },
  })
  const told = bench.events(ran.id, 'parallel_started', 'parallel_completed', 'subgraph_start', 'subgraph_complete')
  expect(told).toMatchObject([
    { name: 'parallel_started', data: { node_id: 'fan', branch_count: 2 } },
    { name: 'parallel_completed', data: { success_count: 1, failure_count: 1 } },
    { name: 'subgraph_start', data: { node_id: 'call' } },
    { name: 'subgraph_complete', data: { status: 'success' } },
  ])
  const ofBranch = bench.events(ran.id, 'node_complete').filter(({ data }) => data['via_parallel'] === true)
  expect(ofBranch.map(({ data }) => data['node_id']).toSorted()).toEqual(['a', 'b'])
})

test('by rule, nothing is run and every node succeeds', async () => {
  const ran = await bench.run(
    `digraph simulated {
      start [shape=Mdiamond]
      exit [shape=Msquare]
      a [prompt="x", goal_gate=true]
      b [shape=parallelogram, tool_command="touch ran", must_write="ran"]
      c [shape=hexagon, label="Go?"]
      d [shape=insulator, duration="10m"]
      start -> a -> b -> c -> d -> exit
    }`,
    ...['--simulate', '--auto-approve'],
  )
  expect(ran, ran.stderr).toMatchObject({ code: 0, visited: ['start', 'a', 'b', 'c', 'd', 'exit'] })
  expect(existsSync(join(bench.workspace(ran.id), 'ran'))).toBe(false)
})
