/** `resolve pipeline`: check, show, parse, handlers and list, through the built program. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Home, newHome } from './cli.ts'

let place: Home
let folder: string

beforeAll(() => {
  place = newHome()
  folder = mkdtempSync(join(tmpdir(), 'resolve-pipelines-'))
})

afterAll(async () => {
  await place.end()
  rmSync(folder, { recursive: true, force: true })
})

function write(name: string, text: string): void {
  mkdirSync(join(folder, name, '..'), { recursive: true })
  writeFileSync(join(folder, name), text)
}

const run = (...args: string[]) => place.with({ cwd: folder }, 'pipeline', ...args)

const LINEAR = 'digraph line { goal="Ship" start -> plan -> exit\n plan [label="Plan it", prompt="Plan"] }\n'
const FAULTY = `digraph faulty {
  start [shape=Mdiamond]
  work [prompt="x", tool_command="ls"]
  lost [prompt="y"]
  start -> work [condition="(outcome=success"]
  lost -> work
}
`

// verifies: S-PIPE-01
test('check tells every problem with its line and what to write instead, and ends with 5', async () => {
  write('faulty.dot', FAULTY)
  const { code, stdout, stderr } = await run('check', 'faulty.dot')
  expect({ code, stderr }).toEqual({ code: 5, stderr: '' })
  expect(stdout).toContain('faulty.dot: error: There is no exit node. (terminal_node)\n  fix: add exit [shape=Msquare]')
  expect(stdout).toMatch(
    /^faulty\.dot:3:3: error: "work" has a tool_command but is no tool node.*\n {2}fix: add shape=parallelogram$/m,
  )
  expect(stdout).toMatch(/^faulty\.dot:4:3: error: "lost" is unreachable/m)
  expect(stdout).toMatch(/^faulty\.dot:5:28: error: The condition "\(outcome=success" is malformed/m)
  expect(stdout).toMatch(/^✗ faulty\.dot: 3 nodes, 2 edges; 4 errors$/m)
})

test('check of several files, of stdin and of children; --strict fails at a warning', async () => {
  write('line.dot', LINEAR)
  write('family.dot', 'digraph f { start -> sub -> exit\n sub [shape=folder, dot_file="parts/child.dot"] }')
  write('parts/child.dot', 'digraph c { start -> a -> exit\n a [prompt="x", max_retries=-1] }')
  write('warns.dot', 'digraph w { start -> a -> exit }')
  const good = await run('check', 'line.dot', 'warns.dot')
  expect(good).toMatchObject({ code: 0 })
  expect(good.stdout).toMatch(/^✓ line\.dot: 3 nodes, 2 edges$/m)
  expect((await run('check', 'line.dot', 'warns.dot', '--strict')).code).toBe(5)
  const family = await run('check', 'family.dot', '--json')
  expect(family.code).toBe(5)
  expect(JSON.parse(family.stdout)).toMatchObject({
    schema: 'resolve.pipeline-check/1',
    exit_code: 5,
    valid: false,
    files: [{ file: 'family.dot', runnable: false, mode: 'walk', nodes: 3, edges: 2, errors: 1 }],
    diagnostics: [{ file: 'parts/child.dot', rule: 'retry_budget_non_negative', severity: 'error', line: 2 }],
  })
  const piped = await place.with({ stdin: FAULTY }, 'pipeline', 'check', '-')
  expect(piped).toMatchObject({ code: 5 })
  expect(piped.stdout).toContain('✗ -: 3 nodes')
})

// verifies: S-PIPE-03
test('files outside of the folder are not read, by name or by a link', async () => {
  write('secret.dot', 'digraph s { start -> hidden -> exit }')
  write(
    'inner/out.dot',
    'digraph o { start -> a -> b -> c -> exit\n a [shape=folder, dot_file="../secret.dot"] b [shape=folder, dot_file="link.dot"] c [prompt="@missing.md"] }',
  )
  symlinkSync(join(folder, 'secret.dot'), join(folder, 'inner', 'link.dot'))
  const { code, stdout } = await run('check', 'inner/out.dot', '--json')
  expect(code).toBe(0)
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: { rule: string; node_id: string }[] }
  expect(diagnostics.map(({ rule, node_id }) => `${rule} ${node_id}`)).toEqual([
    'file_outside a',
    'file_outside b',
    'file_missing c',
  ])
  expect(stdout).not.toContain('hidden')
})

test('what is no pipeline is refused in one sentence: missing, a folder, bytes, too large', async () => {
  const missing = await run('check', 'no-such.dot')
  expect(missing).toMatchObject({ code: 6, stdout: '' })
  expect(missing.stderr).toContain('There is no file "no-such.dot", and the library has no pipeline of this name.')
  write('bytes.dot', 'a\0b')
  write('large.dot', `digraph x {}${' '.repeat(1024 * 1024)}`)
  for (const [name, why] of [
    ['.', 'it is a directory'],
    ['bytes.dot', 'it is no text'],
    ['large.dot', 'it has more than 1048576 bytes'],
  ] as const) {
    const { code, stderr } = await run('check', name)
    expect({ name, code, told: stderr.includes(why) }).toEqual({ name, code: 5, told: true })
  }
})

// verifies: S-PIPE-02
test('show lists nodes with their edges, marks those that lead back, and draws what was read', async () => {
  write(
    'loop.dot',
    `digraph loop {
  start -> work -> check
  check -> exit [condition="outcome=success"]
  check -> work [label="[A] Again", condition="outcome=fail", loop_restart=true]
  work [prompt="Do\u001b[31m it", URL="javascript:alert(1)"]
  check [shape=parallelogram, tool_command="make test", timeout="5m"]
}`,
  )
  const { code, stdout } = await run('show', 'loop.dot')
  expect(code).toBe(0)
  expect(stdout).toBe(`loop
4 nodes, 4 edges; one node at a time

start  start
  → work
work   codergen  Do it
  → check
check  tool  make test  (timeout=5m)
  → exit  if outcome=success
  ↩ work  "[A] Again"  if outcome=fail  begins again
exit   exit
`)
  const drawn = await run('show', 'loop.dot', '--svg')
  expect(drawn.stdout).toMatch(/^<\?xml[\s\S]*<svg[\s\S]*<\/svg>\n?$/)
  expect(drawn.stdout).toContain('outcome=fail')
  expect(drawn.stdout).not.toContain('javascript')
  expect(await run('show', 'loop.dot', '--svg', '-o', 'loop.svg')).toMatchObject({ code: 0, stdout: '' })
  expect(readFileSync(join(folder, 'loop.svg'), 'utf8')).toBe(drawn.stdout)
  expect((await run('show', 'loop.dot', '-o', 'x.svg')).code).toBe(2)
})

test('colours are used only where a terminal or a flag asks for them', async () => {
  write('line.dot', LINEAR)
  expect((await run('show', 'line.dot')).stdout).not.toContain('\u001b')
  expect((await run('show', 'line.dot', '--color', 'always')).stdout).toContain('\u001b[1mplan')
})

test('parse prints the graph as it was read, handlers what nodes can do', async () => {
  write('line.dot', LINEAR)
  const parsed = await run('parse', 'line.dot')
  expect(parsed.code).toBe(0)
  expect(JSON.parse(parsed.stdout)).toMatchObject({
    schema: 'resolve.pipeline/1',
    name: 'line',
    goal: 'Ship',
    mode: 'walk',
    nodes: [
      { id: 'start', handler: 'start', implicit: true },
      { id: 'plan', handler: 'codergen', label: 'Plan it', attributes: { prompt: 'Plan' }, line: 2, column: 2 },
      { id: 'exit', handler: 'exit' },
    ],
    edges: [
      { from: 'start', to: 'plan', weight: 0 },
      { from: 'plan', to: 'exit' },
    ],
    diagnostics: [],
  })
  write('broken.dot', 'digraph b { start -> exit')
  const broken = await run('parse', 'broken.dot')
  expect(broken.code).toBe(5)
  expect(JSON.parse(broken.stdout)).toMatchObject({
    nodes: [{ id: 'start' }, { id: 'exit' }],
    diagnostics: [{ rule: 'syntax' }],
  })
  const { handlers } = JSON.parse((await run('handlers', '--json')).stdout) as {
    handlers: { name: string; shapes: string[] }[]
  }
  expect(handlers.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['start', 'exit', 'codergen', 'tool', 'wait.human']),
  )
  expect((await run('handlers')).stdout).toMatch(/^tool +parallelogram +a shell command$/m)
})

test('run refuses a faulty pipeline and missing inputs before an instance is made, with what to write', async () => {
  write('faulty.dot', FAULTY)
  const faulty = await run('run', 'faulty.dot', '--json')
  expect(faulty.code).toBe(5)
  const { error, next } = JSON.parse(faulty.stdout) as { error: { code: string; fields: unknown[] }; next: string[] }
  expect({ code: error.code, fields: error.fields.length, next }).toEqual({
    code: 'pipeline_invalid',
    fields: 4,
    next: ['resolve pipeline check faulty.dot'],
  })
  write('asks.dot', 'digraph a { start -> a -> exit\n a [prompt="Do $task"] }')
  write(
    'asks.resolver.yaml',
    'params:\n  task: { label: Task, required: true }\n  depth: { input: choice, options: [low, high], default: low }\n',
  )
  const missing = await run('run', 'asks.dot', '--json')
  expect(missing.code).toBe(5)
  expect(JSON.parse(missing.stdout)).toMatchObject({
    error: { code: 'form_invalid', fields: [{ id: 'task', message: 'Task is required' }] },
    next: ["resolve pipeline run asks.dot -i 'task=<task>'"],
  })
  const wrong = await run('run', 'asks.dot', '-i', 'taks=x')
  expect(wrong.code).toBe(2)
  expect(wrong.stderr).toContain('did you mean "task"?')
  expect((await run('run', 'asks.dot', '-i', 'task=x', '-i', 'depth=deep')).code).toBe(2)
  const goal = await run(
    'run',
    '-e',
    'digraph { goal="Ship $task to $where" params="where=Rome" start -> exit }',
    '--json',
  )
  expect(JSON.parse(goal.stdout)).toMatchObject({ error: { code: 'form_invalid', fields: [{ id: 'task' }] } })
  expect((await run('run')).code).toBe(2)
  expect((await run('run', 'asks.dot', '-i', 'task=x', '--set', 'timeout')).code).toBe(2)
  expect(JSON.parse((await place.run('instance', 'list', '--json')).stdout)).toMatchObject({ instances: [] })
})

test('run --dry-run prints the input: the graph with the files that it names, the inputs with their defaults', async () => {
  write(
    'asks.dot',
    'digraph a { start -> a -> b -> exit\n a [prompt="@prompts/do.txt"] b [shape=folder, dot_file="parts/c.dot"] }',
  )
  write('prompts/do.txt', 'Do $task')
  write('parts/c.dot', 'digraph c { start -> x -> exit\n x [prompt="x"] }')
  const args = [
    '-i',
    'task=@prompts/do.txt',
    '--set',
    'a.timeout=1m',
    '--simulate',
    '--auto-approve',
    '--dry-run',
    '--json',
  ]
  const { stdout, code } = await run('run', 'asks.dot', ...args)
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    schema: 'resolve.check/1',
    resolver: 'pipeline',
    input: {
      graph: expect.stringMatching(/^digraph a/),
      file: 'asks.dot',
      files: { 'prompts/do.txt': 'Do $task', 'parts/c.dot': expect.stringMatching(/^digraph c/) },
      inputs: { task: 'Do $task', depth: 'low' },
      set: { 'a.timeout': '1m' },
      simulate: 'rule',
      auto_approve: true,
    },
  })
  const expressed = await run('run', '-e', LINEAR, '--dry-run', '--json')
  expect(JSON.parse(expressed.stdout)).toMatchObject({ input: { graph: LINEAR, inputs: {} } })
})
