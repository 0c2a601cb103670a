/** A long transcript is read in pieces, and in the format of viewers. */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { TRANSCRIPT_READ_MAX_BYTES } from '../../src/core/limits.ts'
import { type LocalPlatform, openLocalPlatform } from '../../src/core/platform/local/local.ts'
import { trajectoryOf } from '../../src/core/protocol/session/trajectory.ts'
import { root } from '../house/source-files.ts'
import { ranToEnd, temporaryHome } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'

const LINES = 700

const writes = plainResolver(
  `fs.mkdirSync(root + '/sessions/long', { recursive: true })
  fs.mkdirSync(root + '/sessions/work', { recursive: true })
  const at = '2026-01-01T00:00:00Z'
  const line = (seq, type, fields) => JSON.stringify({ seq, at, type, turn: 1, ...fields }) + '\\n'
  const long = fs.openSync(root + '/sessions/long/transcript.jsonl', 'a')
  for (let seq = 1; seq <= ${LINES}; seq += 1) fs.writeSync(long, line(seq, 'prompt', { text: 'ü'.repeat(seq === 300 ? 9e6 : 12000) }))
  const usage = { input_tokens: 10, cache_read_tokens: 4, cache_write_tokens: 0, output_tokens: 5 }
  const lines = [
    ['session', { name: 'work', model: 'anthropic/claude', kind: 'live' }], ['prompt', { text: 'Do it.' }],
    ['step', { step: 1, text: 'I look.', finish: 'tool-calls', usage, cost_usd: 0.5 }],
    ['tool_call', { call: 'c1', tool: 'shell', input: { command: 'ls' } }], ['tool_result', { call: 'c1', tool: 'shell', output: 'a.txt', is_error: false }],
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

test('a trajectory has the steps of user and agent, calls with their results, and sums', async () => {
  const timestamp = '2026-01-01T00:00:00.000Z'
  expect(trajectoryOf(await platform.transcript(id, 'work'), '1.2.3')).toEqual({
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
        ...{ step_id: 3, timestamp, source: 'agent', message: 'Done.', model_name: 'anthropic/claude' },
        metrics: { prompt_tokens: 10, completion_tokens: 5, cached_tokens: 4, cost_usd: 0.25 },
      },
    ],
    final_metrics: {
      ...{ total_prompt_tokens: 20, total_completion_tokens: 10, total_cached_tokens: 8 },
      ...{ total_cost_usd: 0.75, total_steps: 3 },
    },
  })
})

test('a trajectory has each call once, and no result without its call', () => {
  const timestamp = '2026-01-01T00:00:00.000Z'
  const call = { type: 'tool:pre' as const, timestamp, data: { call_id: 'c1', tool: 'shell', input: {} } }
  const result = (call_id: string) => ({ type: 'tool:post' as const, timestamp, data: { call_id, output: 'x' } })
  const events = [
    {
      ...{ type: 'content_block:end' as const, timestamp },
      data: { text: '', calls: [{ id: 'c0', tool: 'gone', input: { a: 1 } }, 7, null] },
    },
    ...[result('c0'), call, call, result('c1'), result('other')],
  ]
  const meta = { total_lines: 6, extracted_events: 6, truncated_fields: 0, truncated: false, next: 0 }
  const [step] = trajectoryOf({ session_id: 'work', events, meta }, '1').steps
  // The first never ran: only the step of the model tells it.
  expect(step?.tool_calls).toEqual([
    { tool_call_id: 'c0', function_name: 'gone', arguments: { a: 1 } },
    { tool_call_id: 'c1', function_name: 'shell', arguments: {} },
  ])
  expect(step?.observation?.results).toEqual([
    { source_call_id: 'c0', content: 'x' },
    { source_call_id: 'c1', content: 'x' },
  ])
})
