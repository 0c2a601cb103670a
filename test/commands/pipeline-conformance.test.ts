/** The contract of a public bench for engines of this language, through a wrapper of three lines: its eleven checks, with graphs of our own. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LlmServer } from '../support/llm-server.ts'
import { type Home, newHome } from './cli.ts'

const GRAPHS = {
  linear:
    'digraph Linear { graph [goal="Say hello"] start [shape=Mdiamond] say [prompt="Say hello"] exit [shape=Msquare] start -> say -> exit }',
  branching: `digraph Branching {
    start [shape=Mdiamond]; test [label="Look", prompt="Look"]; good [prompt="Good"]; bad [prompt="Bad"]; exit [shape=Msquare]
    start -> test
    test -> good [condition="outcome=success"]
    test -> bad [condition="outcome=fail"]
    good -> exit; bad -> exit
  }`,
  gate: `digraph Gate {
    graph [goal="Be sure", prose_gates="pass"]
    start [shape=Mdiamond]; sure [prompt="Be sure", goal_gate=true, max_retries=2]; exit [shape=Msquare]
    start -> sure
    sure -> exit [condition="outcome=success"]
    sure -> sure [condition="outcome=fail"]
  }`,
  'no-start': 'digraph NoStart { work [prompt="x"] exit [shape=Msquare] work -> exit }',
  orphan:
    'digraph Orphan { start [shape=Mdiamond] work [prompt="x"] exit [shape=Msquare] lost [prompt="y"] start -> work -> exit }',
  'many-lines': `digraph ManyLines {
    start [shape=Mdiamond]
    work [
      label="Work",
      prompt="First this,
then that",
      max_retries=3,
      timeout="5m"
    ]
    exit [shape=Msquare]
    start -> work [weight=5, label="go"]
    work -> exit
  }`,
}

interface Parsed {
  goal: string
  nodes: { id: string; attributes: Record<string, string> }[]
  edges: { from: string; to: string; condition: string; weight: number }[]
}

interface Validated {
  diagnostics: { rule: string; severity: string; message: string }[]
}

let place: Home
let folder: string
let llm: LlmServer

beforeAll(async () => {
  place = newHome()
  llm = await LlmServer.start([{ text: 'Hello.' }])
  folder = mkdtempSync(join(tmpdir(), 'resolve-conformance-'))
  for (const [name, text] of Object.entries(GRAPHS)) writeFileSync(join(folder, `${name}.dot`), text)
})

afterAll(async () => {
  await llm.close()
  await place.end()
  rmSync(folder, { recursive: true, force: true })
})

const root = join(import.meta.dirname, '..', '..')

async function conformance<T>(verb: string, name?: keyof typeof GRAPHS): Promise<{ code: number; said: T }> {
  const env = {
    ...process.env,
    RESOLVE_HOME: place.home,
    RESOLVE_LLM_PROVIDER_API_KEY: 'sk-ant-test-0123456789',
    RESOLVE_LLM_BASE_URL: llm.url,
    RESOLVE_LLM_MODEL: 'anthropic/test-1',
  }
  const words = [join(root, 'test/support/conformance.mjs'), join(root, 'bin/run.js'), verb]
  if (name !== undefined) words.push(`${name}.dot`)
  return await new Promise((done) => {
    execFile(process.execPath, words, { cwd: folder, env }, (error, stdout) =>
      done({ code: typeof error?.code === 'number' ? error.code : 0, said: JSON.parse(stdout) as T }),
    )
  })
}

const errorsOf = ({ diagnostics }: Validated) => diagnostics.filter(({ severity }) => severity === 'error')

test('parse gives nodes, edges and the goal', async () => {
  const { code, said } = await conformance<Parsed>('parse', 'linear')
  expect(code).toBe(0)
  expect(said.goal).toBe('Say hello')
  expect(said.nodes.map(({ id }) => id)).toEqual(['start', 'say', 'exit'])
  expect(said.edges.map(({ from, to }) => `${from} ${to}`)).toEqual(['start say', 'say exit'])
})

test('parse gives conditions, and attributes over several lines with weights', async () => {
  const branching = await conformance<Parsed>('parse', 'branching')
  expect(branching.said.edges.map(({ condition }) => condition).filter(Boolean)).toEqual([
    'outcome=success',
    'outcome=fail',
  ])
  const { said } = await conformance<Parsed>('parse', 'many-lines')
  expect(said.nodes[1]?.attributes).toMatchObject({ prompt: 'First this,\nthen that', max_retries: '3', timeout: '5m' })
  expect(said.edges[0]).toMatchObject({ from: 'start', to: 'work', weight: 5 })
})

test('validate finds nothing in good graphs, a missing start as an error, and an orphan', async () => {
  for (const name of ['linear', 'branching', 'gate'] as const)
    expect({ name, found: errorsOf((await conformance<Validated>('validate', name)).said) }).toEqual({
      name,
      found: [],
    })
  expect(errorsOf((await conformance<Validated>('validate', 'no-start')).said)).toMatchObject([{ rule: 'start_node' }])
  const { diagnostics } = (await conformance<Validated>('validate', 'orphan')).said
  expect(diagnostics).toMatchObject([
    { rule: 'reachability', severity: 'warning', message: expect.stringMatching(/unreachable.*orphan/) },
  ])
})

test('list-handlers gives an array of names', async () => {
  const { said } = await conformance<string[]>('list-handlers')
  expect(said).toEqual(expect.arrayContaining(['start', 'exit', 'codergen']))
})

test.each(['linear', 'branching', 'gate'] as const)('run of %s calls the model and ends well', async (name) => {
  const before = llm.requests.length
  const { code, said } = await conformance<{ status: string; visited: string[] }>('run', name)
  expect({ code, status: said.status }).toEqual({ code: 0, status: 'completed' })
  expect(said.visited.at(-1)).toBe('exit')
  expect(llm.requests.length).toBeGreaterThan(before)
})

// verifies: S-SVC-17
test('each node is a session of its own, which is told what the one before it answered', async () => {
  writeFileSync(
    join(folder, 'passes.dot'),
    'digraph passes { start -> one -> two -> exit\n one [prompt="Say a word"] two [prompt="Use this: $last_response"] }',
  )
  llm.script([{ text: 'Heliotrope.' }, { text: 'Used.' }])
  const { said } = await conformance<{ status: string }>('run', 'passes' as keyof typeof GRAPHS)
  expect(said.status).toBe('completed')
  expect(llm.requests).toHaveLength(2)
  const [one, two] = llm.requests.map(({ body }) => JSON.stringify(body['messages']))
  expect(one).toContain('Say a word')
  expect(two).toContain('Use this: Heliotrope.')
  expect(two).not.toContain('Say a word')
})
