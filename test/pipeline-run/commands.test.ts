/** Command nodes of a pipeline that runs: what they leave, their environment, files, failures, retries and time (docs/pipelines.md, Nodes). */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Bench, newBench } from './running.ts'

let bench: Bench

beforeEach(() => {
  bench = newBench()
})

afterEach(async () => {
  await bench.end()
})

const COMMANDS = `digraph commands {
  goal = "Say $word"
  params = "word=hi, who"
  node [shape=parallelogram]
  start [shape=Mdiamond]
  exit [shape=Msquare]
  say [tool_command="echo \\"$goal\\"; echo; echo ' red '; echo", label="Say it"]
  red [tool_command="printf '{\\"plan.title\\": \\"x\\", \\"list\\": [1], \\"ok\\": true}'", parse_json=true]
  env [tool_command="printf '%s|%s' \\"$WHO\\" \\"$PLAN_TITLE\\"", tool_env="who, plan.title"]
  bad [tool_command="echo out; echo why >&2; exit 3"]
  green [tool_command="touch never"]
  start -> say
  say -> red [condition="context.tool.last_line=red"]
  say -> green
  red -> env [condition="context.ok=true"]
  red -> green
  env -> bad -> exit [condition="outcome=success"]
  bad -> exit [condition="outcome=fail"]
  green -> exit
}`

test('a command leaves its output, its last line and its JSON; it gets values in its environment, not in its text; its failure has its reason', async () => {
  const who = `a"; touch hacked; "$(touch hacked)`
  const ran = await bench.run(COMMANDS, '-i', `who=${who}`)
  expect(ran, ran.stderr).toMatchObject({ code: 0, status: 'completed' })
  expect(ran.visited).toEqual(['start', 'say', 'red', 'env', 'bad', 'exit'])
  expect(ran.context).toMatchObject({ 'plan.title': 'x', list: [1], ok: true, 'tool.output': 'out\n', outcome: 'fail' })
  expect(existsSync(join(bench.workspace(ran.id), 'hacked'))).toBe(false)
  const file = (path: string) => bench.data(ran.id, `nodes/${path}`)
  expect(file('say/command.txt')).toContain('echo "Say hi"')
  expect(file('say/output.txt')).toBe('Say hi\n\n red \n\n')
  expect(file('env/output.txt')).toBe(`${who}|x`)
  expect(JSON.parse(file('bad/status.json'))).toMatchObject({
    outcome: 'fail',
    failure_reason: expect.stringMatching(/exit code 3: why/) as string,
  })
  expect(file('bad/output.txt')).toContain('why')
  expect(bench.data(ran.id, 'graph.dot')).toBe(COMMANDS)
  expect(bench.nodes(ran.id)).toMatchObject({
    say: { status: 'completed', label: 'Say it', handler: 'tool', visits: 1, attempts: 1, dirs: ['say'] },
    bad: { status: 'failed', reason: expect.stringContaining('why') as string },
    green: { status: 'pending', visits: 0 },
  })
  expect(bench.events(ran.id, 'edge_selected').map(({ data }) => `${data['from']} ${data['to']}`)).toEqual([
    'start say',
    'say red',
    'red env',
    'env bad',
    'bad exit',
  ])
  expect(bench.events(ran.id, 'start')[0]).toMatchObject({
    name: 'start',
    data: { name: 'commands', goal: 'Say hi', mode: 'walk' },
  })
  expect(bench.events(ran.id, 'complete').at(-1)).toMatchObject({ name: 'complete', data: { status: 'success' } })
})

test('a file that must be written is looked for after each attempt, and its lack is a failure', async () => {
  const ran = await bench.run(
    `digraph written {
    node [shape=parallelogram]
    start [shape=Mdiamond]
    exit [shape=Msquare]
    good [tool_command="test -e tried && echo done > 'out $name'; touch tried", must_write="out $name", max_retries=2]
    old [tool_command="true", must_write="out $name"]
    blank [tool_command="printf ' ' > blank", must_write="blank", allow_partial=true]
    start -> good -> old
    old -> blank [condition="outcome=fail"]
    blank -> exit
  }`,
    '-i',
    'name=x',
  )
  expect(ran, ran.stderr).toMatchObject({ code: 0, visited: ['start', 'good', 'old', 'blank', 'exit'] })
  expect(bench.nodes(ran.id)).toMatchObject({
    good: { status: 'completed', attempts: 2, visits: 1 },
    old: { status: 'failed', reason: expect.stringContaining('out x') as string },
    blank: { status: 'completed' },
  })
  expect(bench.events(ran.id, 'stage_retrying')).toMatchObject([
    { data: { node_id: 'good', attempt: 1, reason: expect.stringContaining('must write out x') as string } },
  ])
  expect(
    bench.events(ran.id, 'node_complete').map(({ data }) => [data['node_id'], data['status'], data['attempts']]),
  ).toEqual([
    ['start', 'success', 1],
    ['good', 'success', 2],
    ['old', 'fail', 1],
    ['blank', 'partial_success', 1],
    ['exit', 'success', 1],
  ])
})

test('a timeout bounds a node with its retries and ends all that its command started', async () => {
  const ran = await bench.run(`digraph late {
    node [shape=parallelogram]
    start [shape=Mdiamond]
    exit [shape=Msquare]
    slow [tool_command="setsid sleep 600 & echo $! > pid; trap '' TERM; sleep 600", timeout="300ms", max_retries=3]
    partial [tool_command="sleep 600", timeout="200ms", allow_partial=true]
    start -> slow
    slow -> partial [condition="outcome=fail"]
    partial -> exit
  }`)
  expect(ran, ran.stderr).toMatchObject({ code: 0, visited: ['start', 'slow', 'partial', 'exit'] })
  expect(bench.nodes(ran.id)['slow']?.reason).toContain('timeout')
  const pid = readFileSync(join(bench.workspace(ran.id), 'pid'), 'utf8').trim()
  expect(existsSync(`/proc/${pid}/exe`)).toBe(false)
})

test('a failure over a plain edge to the exit fails the run; one that is passed over is told', async () => {
  const graph = (end: string) => `digraph silent {
    node [shape=parallelogram]
    start [shape=Mdiamond]
    exit [shape=Msquare]
    bad [tool_command="echo broken >&2; false"]
    start -> bad -> ${end}
    more [tool_command="echo more"]
  }`
  const green = await bench.run(graph('exit\n more -> exit\n bad -> more [condition="outcome=skipped"]'))
  expect(green).toMatchObject({ code: 1, status: 'failed', visited: ['start', 'bad'] })
  expect(JSON.stringify(green.error)).toContain('broken')
  const passed = await bench.run(graph('more -> exit'))
  expect(passed).toMatchObject({
    code: 0,
    passed_over: [{ node_id: 'bad', reason: expect.stringContaining('broken') as string }],
  })
  expect(passed.output).toContain('broken')
})

test('the whole run has its time', async () => {
  const ran = await bench.run(`digraph long {
    max_pipeline_duration = 700
    start [shape=Mdiamond]
    exit [shape=Msquare]
    one [shape=parallelogram, tool_command="sleep 600"]
    start -> one -> exit
    one -> exit [condition="outcome=success"]
  }`)
  expect(ran).toMatchObject({ code: 1, status: 'failed' })
  expect(JSON.stringify(ran.error)).toContain('max_pipeline_duration_exceeded')
})
