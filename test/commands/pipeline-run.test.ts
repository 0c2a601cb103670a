/** `resolve pipeline run`: where a pipeline comes from, its inputs, how runs end, and what is printed, through the built program. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
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
  mkdirSync(dirname(join(folder, name)), { recursive: true })
  writeFileSync(join(folder, name), text)
}

const run = (...args: string[]) => place.with({ cwd: folder }, 'pipeline', 'run', ...args)

interface Document {
  instance_id: string
  status: string
  exit_code: number
  output: string | null
  error: { code: string; detail: string } | null
  next: string[]
  visited: string[]
  context: Record<string, unknown>
  questions: string[]
  diagnostics: { rule: string }[]
  run_dir: string | null
}

async function document(...args: string[]): Promise<Document> {
  const { stdout, stderr } = await run(...args, '--json')
  expect({ args, stderr, isDocument: stdout.startsWith('{') }).toMatchObject({ isDocument: true })
  return JSON.parse(stdout) as Document
}

const page = readFileSync(join(import.meta.dirname, '../../docs/pipelines.md'), 'utf8')
const examples = [...page.matchAll(/^```dot\n(digraph (\w+) [\s\S]*?)^```$/gm)].map(([, source = '', name = '']) => ({
  name,
  source,
}))

test.each(examples)('the example "$name" of the page runs without a model', async ({ name, source }) => {
  write(`${name}.dot`, source)
  write('tests.dot', 'digraph tests { start -> count -> exit\n count [shape=parallelogram, tool_command="echo 1"] }')
  const { status, error } = await document(`${name}.dot`, '--simulate', '--auto-approve')
  expect({ name, status, error }).toEqual({ name, status: 'completed', error: null })
})

// verifies: S-PIPE-04
test('a pipeline runs with its files and inputs; --json tells what was visited and the values', async () => {
  write(
    'whole.dot',
    `digraph whole {
  goal = "Greet $who"
  start -> greet -> child -> exit
  start -> never [condition="outcome=fail"]
  never [prompt="secret words"]
  greet [shape=parallelogram, tool_command="echo \\"hello $WHO\\"", tool_env="who"]
  child [shape=folder, dot_file="parts/child.dot", outputs="tool.last_line"]
}`,
  )
  write(
    'parts/child.dot',
    'digraph c { start -> again -> exit\n again [shape=parallelogram, tool_command="echo from the child"] }',
  )
  const { stdout, code } = await run('whole.dot', '-i', 'who=Ada', '--json')
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    schema: 'resolve.instance/1',
    resolver: 'pipeline',
    status: 'completed',
    visited: ['start', 'greet', 'child', 'exit'],
    context: { 'graph.goal': 'Greet Ada', who: 'Ada', 'tool.last_line': 'from the child' },
    questions: [],
    run_dir: expect.stringContaining('.resolve'),
  })
})

test('a command that fails ends the run with 1 and its reason; --set and -e change and give a pipeline', async () => {
  const source = 'digraph { start -> a -> exit\n a [shape=parallelogram, tool_command="echo oh no >&2; exit 3"] }'
  const failed = await document('-e', source)
  expect(failed).toMatchObject({ status: 'failed', exit_code: 1, visited: ['start', 'a'] })
  expect(failed.error?.detail).toContain('exit code 3: oh no')
  const mended = await document('-e', source, '--set', 'a.tool_command=echo fine')
  expect(mended).toMatchObject({ status: 'completed', context: { 'tool.last_line': 'fine' } })
  const piped = await place.with({ stdin: source }, 'pipeline', 'run', '-', '--set', 'a.tool_command=true')
  expect(piped.code).toBe(0)
})

test('a question ends the command with 8; an answer of --answers and --auto-approve choose an edge', async () => {
  write(
    'ask.dot',
    'digraph ask { start -> ok\n ok [shape=hexagon, label="Ship it?"]\n ok -> exit [label="[Y] Yes"]\n ok -> no [label="[N] No"]\n no [shape=parallelogram, tool_command="exit 1"]\n no -> exit }',
  )
  const open = await document('ask.dot')
  expect(open).toMatchObject({ status: 'awaiting_input', exit_code: 8 })
  expect(open.next[0]).toContain(`resolve instance answer ${open.instance_id} ok`)
  const approved = await document('ask.dot', '--auto-approve')
  expect(approved).toMatchObject({ status: 'completed', visited: ['start', 'ok', 'exit'] })
  write('answers.json', JSON.stringify({ ok: { choice: 'no' } }))
  const refused = await document('ask.dot', '--answers', 'answers.json')
  expect(refused).toMatchObject({ status: 'failed', exit_code: 1, visited: ['start', 'ok', 'no'] })
})

test('a script answers in place of models', async () => {
  write(
    'loop.dot',
    'digraph l { start -> work -> review\n work [prompt="Work"] review [prompt="Review"]\n review -> exit [condition="outcome=success"]\n review -> work [condition="outcome=fail"] }',
  )
  write(
    'script.json',
    JSON.stringify({
      version: 1,
      replies: { work: ['one', 'two'], review: [{ status: 'fail', text: 'No' }, { status: 'success' }] },
    }),
  )
  expect(await document('loop.dot', '--script', 'script.json')).toMatchObject({
    status: 'completed',
    visited: ['start', 'work', 'review', 'work', 'review', 'exit'],
  })
  write('script.json', '{"version": 2}')
  expect((await document('loop.dot', '--script', 'script.json')).status).toBe('failed')
})

test('a pipeline is found in the repository that is cloned, and at a git address', async () => {
  write(
    'repo/pipelines/hi.dot',
    'digraph hi { start -> say -> exit\n say [shape=parallelogram, tool_command="cat word.txt"] }',
  )
  write('repo/word.txt', 'from the clone\n')
  const repo = join(folder, 'repo')
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@localhost', ...args], { cwd: repo, stdio: 'ignore' })
  git('init', '-q', '-b', 'main')
  git('add', '-A')
  git('commit', '-qm', 'all')
  const env = { RESOLVE_GIT_LOCAL: folder }
  const words = ['pipeline', 'run', '--repository', repo, '--json']
  const inClone = await place.with({ env, cwd: tmpdir() }, ...words, 'pipelines/hi.dot')
  expect(JSON.parse(inClone.stdout)).toMatchObject({
    status: 'completed',
    context: { 'tool.last_line': 'from the clone' },
  })
  const address = `git+file://${repo}#subdirectory=pipelines/hi.dot`
  const fetched = await place.with({ env, cwd: tmpdir() }, ...words, address)
  expect(JSON.parse(fetched.stdout)).toMatchObject({ status: 'completed', visited: ['start', 'say', 'exit'] })
})
