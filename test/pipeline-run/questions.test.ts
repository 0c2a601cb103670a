/** Questions of a pipeline: their kinds, their ids, what an answer leaves, and what happens without one (docs/pipelines.md, Nodes). */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { until } from '../support/instances.ts'
import { type Bench, newBench, scriptOf } from './running.ts'

let bench: Bench

beforeEach(() => {
  bench = newBench()
})

afterEach(async () => {
  await bench.end()
})

const FRAME = 'start [shape=Mdiamond] exit [shape=Msquare]'
const DO = 'shape=parallelogram, tool_command="true"'

async function answered(id: string, request: string, field: string): Promise<Record<string, unknown>> {
  const answer = await bench.place.run('instance', 'answer', id, request, '-i', field)
  expect(answer, answer.stderr).toMatchObject({ code: 0 })
  return await bench.followed(id, request)
}

// verifies: S-PIPE-14
test('a choice, asked again in a loop, a yes or no, and a text: each question has an id of its own', async () => {
  const asked = await bench.run(
    `digraph asking {
    ${FRAME}
    review [shape=hexagon, label="Publish $what?"]
    sure [shape=hexagon, mode="yes_no", label="Sure?"]
    why [shape=hexagon, mode="freeform", label="Why?"]
    again [${DO}]
    start -> review
    review -> again [label="[A] Again"]
    review -> sure [label="[P] Publish"]
    again -> review
    sure -> exit [condition="outcome=success"]
    sure -> why [condition="outcome=fail"]
    why -> exit
  }`,
    '-i',
    'what=notes',
  )
  expect(asked).toMatchObject({ code: 8, status: 'awaiting_input' })
  expect(bench.nodes(asked.id)['review']).toMatchObject({ status: 'waiting' })
  const shown = await bench.place.run('instance', 'answer', asked.id, '--list', '--json')
  expect(JSON.parse(shown.stdout)).toMatchObject({ input_requests: [{ id: 'review', prompt: 'Publish notes?' }] })
  // No answer is no choice: the first one may publish.
  const empty = await bench.place.with({ stdin: '{}' }, 'instance', 'answer', asked.id, 'review', '--input-file', '-')
  expect(empty.code).toBe(5)
  expect(await answered(asked.id, 'review', 'choice=again')).toMatchObject({ status: 'awaiting_input' })
  expect(await answered(asked.id, 'review-2', 'choice=publish')).toMatchObject({ status: 'awaiting_input' })
  expect(await answered(asked.id, 'sure', 'choice=no')).toMatchObject({ status: 'awaiting_input' })
  const ran = await answered(asked.id, 'why', 'text=It is late')
  expect(ran).toMatchObject({
    status: 'completed',
    visited: ['start', 'review', 'again', 'review', 'sure', 'why', 'exit'],
    questions: ['review', 'review-2', 'sure', 'why'],
    context: {
      'human.gate.selected': 'N',
      'human.gate.label': 'No',
      'human.gate.text': 'It is late',
      last_response: 'It is late',
    },
  })
  const told = bench.events(asked.id, 'interview_started', 'interview_completed')
  expect(told.map(({ name, data }) => `${name} ${data['request_id']}`).slice(0, 3)).toEqual([
    'interview_started review',
    'interview_completed review',
    'interview_started review-2',
  ])
})

// verifies: S-PIPE-14
test('without an answer in time the default is taken, by target, key or label; without a default the node is tried again and fails', async () => {
  const id = await bench.begin(`digraph late {
    ${FRAME}
    one [shape=hexagon, label="1?", timeout="200ms", human.default_choice="b"]
    two [shape=hexagon, label="2?", timeout="200ms", human.default_choice="S"]
    three [shape=hexagon, label="3?", timeout="200ms", max_retries=1]
    a [${DO}] b [${DO}] c [${DO}]
    start -> one
    one -> a
    one -> b
    a -> exit
    b -> two
    two -> exit [label="[G] Go"]
    two -> three [label="[S] Skip it"]
    three -> exit [condition="outcome=success"]
    three -> c [condition="outcome=fail"]
    c -> exit
  }`)
  await until(bench.place.home, id, ({ status }) => status === 'completed')
  expect(bench.result(id)).toMatchObject({
    visited: ['start', 'one', 'b', 'two', 'three', 'c', 'exit'],
    questions: ['one', 'two', 'three', 'three-2'],
  })
  expect(bench.events(id, 'interview_timeout')).toHaveLength(4)
})

test('while a question is open, the run is paused and resumed; the same question is open, and its answer goes on', async () => {
  const { id } = await bench.run(`digraph paused {
    ${FRAME}
    before [shape=parallelogram, tool_command="echo once >> effects"]
    ask [shape=hexagon, label="Go?"]
    after [shape=parallelogram, tool_command="cat effects"]
    start -> before -> ask -> after -> exit
  }`)
  expect((await bench.place.run('instance', 'pause', id)).code).toBe(0)
  await bench.place.reaches(id, 'paused')
  expect((await bench.place.run('instance', 'resume', id, '--detach')).code).toBe(0)
  await bench.place.reaches(id, 'awaiting_input')
  const ran = await answered(id, 'ask', 'choice=after')
  expect(ran).toMatchObject({ status: 'completed', questions: ['ask'], context: { 'tool.output': 'once\n' } })
  expect(bench.nodes(id)).toMatchObject({ before: { visits: 1, attempts: 1 }, ask: { visits: 1 } })
  expect(bench.events(id, 'start', 'complete')).toHaveLength(2)
})

test('the time of a question runs on while the run is paused', async () => {
  const { id } = await bench.run(`digraph waits {
    ${FRAME}
    ask [shape=hexagon, label="Go?", timeout="1h", human.default_choice="late"]
    now [${DO}] late [${DO}]
    start -> ask
    ask -> now
    ask -> late
    now -> exit
    late -> exit
  }`)
  expect((await bench.place.run('instance', 'pause', id)).code).toBe(0)
  await bench.place.reaches(id, 'paused')
  // As if it had been asked two hours ago.
  const log = join(bench.workspace(id), '..', '.resolve', 'pipeline.jsonl')
  const earlier = (_: string, at: string) => `"at":${Number(at) - 7_200_000}`
  writeFileSync(log, readFileSync(log, 'utf8').replace(/"at":(\d+)/g, earlier))
  expect((await bench.place.run('instance', 'resume', id, '--detach')).code).toBe(0)
  await until(bench.place.home, id, ({ status }) => status === 'completed')
  expect(bench.result(id)).toMatchObject({ visited: ['start', 'ask', 'late', 'exit'] })
  expect(bench.events(id, 'interview_timeout')).toHaveLength(1)
})

test('what a run gives is the last answer of a session, also where a question and a command follow it', async () => {
  bench.write({ 'script.json': scriptOf({ write: ['The whole answer.'], ask: ['Go'] }) })
  const ran = await bench.run(
    `digraph gives {
    ${FRAME}
    write [prompt="Write."]
    ask [shape=hexagon, label="Good?"]
    after [${DO}]
    start -> write -> ask
    ask -> after [label="Go"]
    after -> exit
  }`,
    '--script',
    'script.json',
  )
  expect(ran).toMatchObject({ status: 'completed', output: 'The whole answer.' })
})

test('a question shows files of the working directory, in its text or by name, as they were; nothing outside', async () => {
  const made = [
    ...[
      'mkdir docs',
      "printf '# Plan\\n\\x60\\x60\\x60\\ncode\\n\\x60\\x60\\x60\\n' > PLAN.md",
      'echo deep > docs/a.md',
    ],
    ...['ln -s /etc/passwd docs/b.md', 'mkfifo docs/c.md', 'head -c 200000 /dev/zero > docs/d.md'],
  ].join('; ')
  const asked = await bench.run(`digraph attached {
    ${FRAME}
    make [shape=parallelogram, tool_command="${made.replaceAll('\\', '\\\\')}"]
    ask [shape=hexagon, label="Good?", attachments_inline="PLAN.md", attachments_ref="docs/*.md"]
    start -> make -> ask -> exit
  }`)
  expect(asked, asked.stderr).toMatchObject({ status: 'awaiting_input' })
  const shown = await bench.place.run('instance', 'answer', asked.id, '--list', '--json')
  const [{ prompt = '' } = {}] = (JSON.parse(shown.stdout) as { input_requests: { prompt: string }[] }).input_requests
  expect(prompt).toContain('`PLAN.md`:\n\n````\n# Plan\n```\ncode\n```\n````')
  expect(prompt).toContain('- `docs/a.md` (in `nodes/ask/attachments/docs/a.md`)')
  for (const odd of ['b', 'c', 'd'])
    expect(prompt).toContain(`- \`docs/${odd}.md\`: has more than 100 KiB, or is no file`)
  expect(prompt).not.toContain('root:')
  expect(bench.data(asked.id, 'nodes/ask/attachments/docs/a.md')).toBe('deep\n')
  const outside = await bench.run(
    `digraph out { ${FRAME} ask [shape=hexagon, label="?", attachments_inline="../../**"] start -> ask -> exit }`,
  )
  expect(outside.reason).toContain('leads out of')
})
