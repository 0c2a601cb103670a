/** Sessions of a pipeline with the real client of a provider: what they are told, what they share, and how they give a verdict (docs/pipelines.md, Models; Outcomes). */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type LlmRequest, LlmServer } from '../support/llm-server.ts'
import { type Bench, newBench, type Ran } from './running.ts'

let bench: Bench
let llm: LlmServer

beforeEach(async () => {
  bench = newBench()
  llm = await LlmServer.start()
})

afterEach(async () => {
  await bench.end()
  await llm.close()
})

const runs = (graph: string, ...words: string[]): Promise<Ran> =>
  bench.with(
    {
      RESOLVE_LLM_PROVIDER_API_KEY: 'sk-ant-canary-0123456789',
      RESOLVE_LLM_BASE_URL: llm.url,
      RESOLVE_LLM_MODEL: 'anthropic/test-1',
    },
    graph,
    ...words,
  )

type Message = { role: string; content: string | { type: string; text?: string }[] }

/** The texts of the messages of a request, by their role. */
function textsOf({ body }: LlmRequest, role: string): string[] {
  return (body['messages'] as Message[]).flatMap((message) =>
    message.role !== role
      ? []
      : typeof message.content === 'string'
        ? [message.content]
        : message.content.flatMap(({ text }) => text ?? []),
  )
}

const FRAME = 'start [shape=Mdiamond] exit [shape=Msquare]'

test('a session is told its prompt, what was done before, and where its status.json goes; that file is the strongest verdict', async () => {
  bench.write({ 'prompts/plan.txt': 'Plan $what.' })
  llm.script([
    { text: 'The plan: walk.' },
    (request) => {
      const path = /(\S+status\.json)/.exec(textsOf(request, 'user').join('\n'))?.[1] ?? 'none'
      const json = '{"outcome": "fail", "preferred_label": "redo", "context_updates": {"found": "a hole"}}'
      return { calls: [{ tool: 'write', input: { path, content: json }, id: 'c1' }] }
    },
    { text: 'All is well. {"outcome": "success"}' },
    { text: 'Mended.' },
  ])
  const ran = await runs(
    `digraph told {
      goal = "Cross the river"
      model_stylesheet = "* { llm_model: anthropic/test-2; } #plan { llm_model: test-3; }"
      ${FRAME}
      plan [prompt="@prompts/plan.txt"]
      review [prompt="Review it"]
      mend [shape=tab, prompt="Mend $found", llm_model="anthropic/test-4"]
      start -> plan -> review
      review -> exit [condition="outcome=success"]
      review -> mend [condition="outcome=redo"]
      mend -> exit
    }`,
    ...['-i', 'what=a walk'],
  )
  expect(ran, ran.stderr).toMatchObject({
    code: 0,
    visited: ['start', 'plan', 'review', 'mend', 'exit'],
    output: 'Mended.',
  })
  expect(llm.requests.map(({ body }) => body['model'])).toEqual(['test-3', 'test-2', 'test-2', 'test-4'])
  const [plan, review, , mend] = llm.requests.map((request) => textsOf(request, 'user').join('\n')) as string[]
  expect(plan).toContain('Plan a walk.')
  expect(plan).toContain('Cross the river')
  expect(review).toContain('The plan: walk.')
  expect(review).toMatch(/\/review\/status\.json/)
  expect(mend).toContain('Mend a hole')
  expect(mend).not.toContain('status.json')
  expect((llm.requests[3]?.body['tools'] as unknown[] | undefined) ?? []).toEqual([])
  expect(bench.data(ran.id, 'nodes/review/prompt.md')).toContain('Review it')
  expect(bench.nodes(ran.id)).toMatchObject({
    plan: { sessions: ['plan'], status: 'completed' },
    review: { sessions: ['review'], status: 'failed' },
  })
})

test('nodes with full fidelity and one thread go on in one session; others begin anew', async () => {
  llm.script([{ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }])
  const ran = await runs(`digraph threads {
    ${FRAME}
    default_fidelity = full
    a [prompt="First", thread_id="t"]
    b [prompt="Second", thread_id="t"]
    c [prompt="Third", fidelity="truncate"]
    start -> a -> b -> c -> exit
  }`)
  expect(ran, ran.stderr).toMatchObject({ code: 0 })
  expect(textsOf(llm.requests[1] as LlmRequest, 'assistant')).toEqual(['One.'])
  expect(textsOf(llm.requests[2] as LlmRequest, 'assistant')).toEqual([])
  expect(textsOf(llm.requests[2] as LlmRequest, 'user').join('')).not.toContain('Two.')
  const { a, b, c } = bench.nodes(ran.id)
  expect(a?.sessions).toEqual(b?.sessions)
  expect(c?.sessions).not.toEqual(a?.sessions)
})

test('a goal gate without a verdict is asked for it once, in the same session', async () => {
  llm.script([{ text: 'It looks good.' }, { text: '{"outcome": "success"}' }])
  const ran = await runs(`digraph gate {
    ${FRAME}
    review [prompt="Review", goal_gate=true]
    start -> review -> exit
  }`)
  expect(ran, ran.stderr).toMatchObject({ code: 0, visited: ['start', 'review', 'exit'] })
  expect(llm.requests).toHaveLength(2)
  expect(textsOf(llm.requests[1] as LlmRequest, 'assistant')).toEqual(['It looks good.'])
})

test('branches have sessions of their own, also with the same thread', async () => {
  llm.script([{ text: 'Said.' }])
  const ran = await runs(`digraph branches {
    ${FRAME}
    default_fidelity = full
    default_thread_id = t
    fan [shape=component]
    a [prompt="A"]
    b [prompt="B"]
    meet [shape=tripleoctagon]
    start -> fan -> {a b} -> meet -> exit
  }`)
  expect(ran, ran.stderr).toMatchObject({ code: 0 })
  expect(llm.requests).toHaveLength(2)
  for (const request of llm.requests) expect(textsOf(request, 'assistant')).toEqual([])
  const { a, b } = bench.nodes(ran.id)
  expect(a?.sessions).not.toEqual(b?.sessions)
})

test('without a key the run ends with the reason, before a node is executed', async () => {
  const ran = await bench.run(
    `digraph keyless { ${FRAME} t [shape=parallelogram, tool_command="true"]; a [prompt="x"]; start -> t -> a -> exit }`,
  )
  expect(ran.status).toBe('failed')
  expect(bench.events(ran.id, 'node_start')).toEqual([])
  expect(JSON.stringify(ran.error)).toContain('there is no key')
})

test('reasoning_effort of a node, or of the stylesheet, is how much its model thinks', async () => {
  llm.script([{ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }])
  const ran = await bench.with(
    {
      RESOLVE_LLM_PROVIDER_API_KEY: 'sk-canary-0123456789',
      RESOLVE_LLM_BASE_URL: llm.url,
      RESOLVE_LLM_MODEL: 'openai-compatible/test-1',
    },
    `digraph thinks {
      model_stylesheet = ".hard { reasoning_effort: high; }"
      ${FRAME}
      one [prompt="1", reasoning_effort=low]
      two [prompt="2", class=hard]
      three [prompt="3"]
      start -> one -> two -> three -> exit
    }`,
  )
  expect(ran.status, ran.stderr).toBe('completed')
  expect(llm.requests.map(({ body }) => body['reasoning_effort'])).toEqual(['low', 'high', undefined])
})

test('tool_hooks are commands around each call of a tool: one before it can refuse the call', async () => {
  llm.script([
    {
      calls: [
        { tool: 'shell', input: { command: 'echo one >> effects' }, id: 'c1' },
        { tool: 'shell', input: { command: 'rm -rf /nowhere; echo two >> effects' }, id: 'c2' },
      ],
    },
    { text: 'Done.' },
  ])
  const ran = await runs(`digraph hooked {
    "tool_hooks.post" = "echo post $TOOL_NAME $TOOL_CALL_ID >> told; echo \\"$TOOL_OUTPUT\\" | wc -l >> told"
    ${FRAME}
    work [prompt="Work.", "tool_hooks.pre"="case \\"$TOOL_INPUT\\" in *'rm -rf'*) echo no rm here; exit 1;; esac; echo pre $NODE_ID >> told"]
    start -> work -> exit
  }`)
  expect(ran.status, ran.stderr).toBe('completed')
  const read = (name: string) =>
    readFileSync(join(bench.workspace(ran.id), name), 'utf8')
      .trimEnd()
      .split('\n')
  expect(read('effects')).toEqual(['one'])
  expect(read('told').slice(0, 2)).toEqual(['pre work', 'post shell c1'])
  expect(llm.requests[1]?.text).toContain('This call was refused by tool_hooks.pre: no rm here')
})
