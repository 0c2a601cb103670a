/** A long transcript is read in pieces, and in the format of viewers. */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { TRAJECTORY_PIECE_BYTES, TRANSCRIPT_READ_MAX_BYTES } from '../../src/core/limits.ts'
import { type LocalPlatform, openLocalPlatform } from '../../src/core/platform/local/local.ts'
import type { AtifDocument } from '../../src/core/protocol/session/atif.ts'
import type { TranscriptDocument, TranscriptEvent } from '../../src/core/protocol/session/session.ts'
import { piecesOf, trajectoryLines } from '../../src/core/protocol/session/trajectory.ts'
import { root } from '../house/source-files.ts'
import { atifProblems } from '../support/atif-rules.ts'
import { ranToEnd, temporaryHome } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'

const LINES = 700

const writes = plainResolver(
  `fs.mkdirSync(root + '/sessions/long', { recursive: true })
  fs.mkdirSync(root + '/sessions/work', { recursive: true })
  const at = '2026-01-01T00:00:00Z'
  const line = (seq, type, fields) => JSON.stringify({ seq, at, type, turn: 1, ...fields }) + '\\n'
  const long = fs.openSync(root + '/sessions/long/transcript.jsonl', 'a')
  for (let seq = 1; seq <= ${LINES}; seq += 1) fs.writeSync(long, line(seq, 'prompt', { text: 'ü'.repeat(seq === 300 ? 9e6 : seq === 400 ? 1e6 : 12000) }))
  const usage = { input_tokens: 10, cache_read_tokens: 4, cache_write_tokens: 0, output_tokens: 5 }
  const lines = [
    ['session', { name: 'work', model: 'anthropic/claude', kind: 'live' }], ['prompt', { text: 'Do it.' }],
    ['step', { step: 1, text: 'I look.', finish: 'tool-calls', usage, cost_usd: 0.5 }],
    ['tool_call', { call: 'c1', tool: 'shell', input: { command: 'ls' } }], ['tool_result', { call: 'c1', tool: 'shell', output: 'a.txt', is_error: false }],
    ['compaction', { how: 'summary', messages: [], usage, cost_usd: 0.125 }],
    ['step', { step: 2, text: 'Done.', finish: 'stop', usage, cost_usd: 0.25 }], ['answer', { output: 'Done.' }],
  ]
  fs.writeFileSync(root + '/sessions/work/transcript.jsonl', lines.map(([type, fields], index) => line(index + 1, type, fields)).join(''))
  me.finish({ status: 'completed' })`,
  { name: 'writes' },
)

let platform: LocalPlatform
let id: string

beforeAll(async () => {
  const home = temporaryHome()
  ;({ id } = await ranToEnd(home, writes))
  platform = await openLocalPlatform({ home, builtins: join(root, 'src/resolvers') })
})

afterAll(() => platform.close())

// verifies: S-SESS-02
test('each piece is within an answer, and together they are all lines but one that is longer than an answer', async () => {
  let lines = 0
  let pieces = 0
  for (let after = 0; ; pieces += 1) {
    const { events, meta } = await platform.transcript(id, 'long', after)
    expect(meta.next - after).toBeLessThanOrEqual(TRANSCRIPT_READ_MAX_BYTES)
    lines += events.length
    if (meta.next === after) break
    after = meta.next
  }
  expect(pieces).toBeGreaterThan(1)
  expect(lines).toBe(LINES - 1)
  const { events, meta } = await platform.transcript(id, 'long', 1e15)
  expect({ events, truncated: meta.truncated }).toEqual({ events: [], truncated: false })
})

async function trajectoryOf(pieces: AsyncIterable<TranscriptDocument>): Promise<AtifDocument> {
  const lines: string[] = []
  for await (const line of trajectoryLines(pieces, '1.2.3')) lines.push(line)
  return JSON.parse(lines.join('\n')) as AtifDocument
}

const read = (session: string) => piecesOf((after) => platform.transcript(id, session, after, TRAJECTORY_PIECE_BYTES))

// verifies: S-SESS-03
test('a trajectory has the steps of user and agent, calls with their results, and sums with what a summary cost', async () => {
  const timestamp = '2026-01-01T00:00:00.000Z'
  const found = await trajectoryOf(read('work'))
  expect(atifProblems(found)).toEqual([])
  expect(found).toEqual({
    schema_version: 'ATIF-v1.4',
    session_id: 'work',
    agent: { name: 'work', version: '1.2.3', model_name: 'anthropic/claude' },
    steps: [
      { step_id: 1, timestamp, source: 'user', message: 'Do it.' },
      {
        ...{ step_id: 2, timestamp, source: 'agent', message: 'I look.', model_name: 'anthropic/claude' },
        metrics: { prompt_tokens: 10, completion_tokens: 5, cached_tokens: 4, cost_usd: 0.5 },
        tool_calls: [{ tool_call_id: 'c1', function_name: 'shell', arguments: { command: 'ls' } }],
        observation: { results: [{ source_call_id: 'c1', content: 'a.txt' }] },
      },
      {
        ...{ step_id: 3, timestamp, source: 'system', message: 'The history was made shorter.' },
        extra: { how: 'summary', prompt_tokens: 10, completion_tokens: 5, cached_tokens: 4, cost_usd: 0.125 },
      },
      {
        ...{ step_id: 4, timestamp, source: 'agent', message: 'Done.', model_name: 'anthropic/claude' },
        metrics: { prompt_tokens: 10, completion_tokens: 5, cached_tokens: 4, cost_usd: 0.25 },
      },
    ],
    final_metrics: {
      ...{ total_prompt_tokens: 30, total_completion_tokens: 15, total_cached_tokens: 12 },
      ...{ total_cost_usd: 0.875, total_steps: 4 },
    },
    notes: expect.any(String),
  })
})

// verifies: S-SESS-03
test('a trajectory has all of a transcript that is longer than an answer', async () => {
  const found = await trajectoryOf(read('long'))
  expect(atifProblems(found)).toEqual([])
  expect(found.steps).toHaveLength(LINES - 1)
  expect(found.notes).toBe('1 long texts are cut.')
})

const timestamp = '2026-01-01T00:00:00.000Z'
const told = (type: TranscriptEvent['type'], data: TranscriptEvent['data']): TranscriptEvent => ({
  type,
  timestamp,
  data,
})

async function ofEvents(...events: TranscriptEvent[]): Promise<AtifDocument> {
  const meta = {
    total_lines: events.length,
    extracted_events: events.length,
    truncated_fields: 0,
    truncated: false,
    next: 9,
  }
  return await trajectoryOf(piecesOf(async () => ({ session_id: 'work', events, meta })))
}

test('a trajectory has each call once, also one that never ran, and no result without its call', async () => {
  const call = told('tool:pre', { call_id: 'c1', tool: 'shell', input: 'no object' })
  const result = (call_id: string) => told('tool:post', { call_id, output: 'x' })
  const calls = [{ id: 'c0', tool: 'gone', input: { a: 1 } }, 7, null]
  const step = told('content_block:end', { text: '', calls, usage: { input_tokens: 'many' } })
  const meanwhile = told('prompt:submit', { prompt: 'Also this.' })
  const late = [meanwhile, result('c1'), result('other'), step, result('c1')]
  const found = await ofEvents(result('early'), call, step, result('c0'), call, call, ...late)
  expect(atifProblems(found)).toEqual([])
  expect(found.steps.map(({ source }) => source)).toEqual(['agent', 'user', 'agent'])
  expect(found.steps[0]?.tool_calls).toEqual([
    { tool_call_id: 'c0', function_name: 'gone', arguments: { a: 1 } },
    { tool_call_id: 'c1', function_name: 'shell', arguments: {} },
  ])
  expect(found.steps[0]?.observation?.results).toEqual([
    { source_call_id: 'c0', content: 'x' },
    { source_call_id: 'c1', content: 'x' },
  ])
})

test('a session without a prompt is a trajectory too, and a step without an end is cut', async () => {
  expect(atifProblems(await ofEvents())).toEqual([])
  const output = 'x'.repeat(1e6)
  const calls = Array.from({ length: 40 }, (_, index) => [
    told('tool:pre', { call_id: `c${index}`, tool: 'shell', input: {} }),
    told('tool:post', { call_id: `c${index}`, output }),
  ])
  const found = await ofEvents(told('content_block:end', { text: 'I look.' }), ...calls.flat())
  expect(atifProblems(found)).toEqual([])
  expect(found.steps[0]?.tool_calls?.length).toBeLessThan(20)
  expect(found.notes).toContain('1 steps have more calls')
})

test('the rules find what viewers refuse', async () => {
  const good = await trajectoryOf(read('work'))
  const [first, second] = good.steps
  const broken = (change: object) => atifProblems({ ...good, ...change })
  expect(broken({ surprise: 1 })).toEqual(['trajectory.surprise: not a field'])
  expect(broken({ steps: [] })).toContain('steps: none')
  expect(broken({ steps: [second], final_metrics: {} })).toEqual(['steps[0].step_id: not 1'])
  expect(broken({ steps: [{ ...first, metrics: {} }], final_metrics: {} })).toEqual(['steps[0].metrics: of agents'])
  const orphan = { ...second, step_id: 1, tool_calls: [] }
  expect(broken({ steps: [orphan], final_metrics: {} })).toEqual(['steps[0]: a result without its call'])
})
