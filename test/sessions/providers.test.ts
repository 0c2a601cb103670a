/** What a session does with each provider: the real clients of four protocols against a scripted server. */
import { readdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { problemIn } from '../support/llm-requests.ts'
import { DIALECTS, type LlmServer as Llm, type LlmRequest, LlmServer } from '../support/llm-server.ts'
import { arena, FAST, KEY } from './arena.ts'

let llm: Llm

beforeAll(async () => {
  llm = await LlmServer.start()
})

afterAll(() => llm.close())

const LOOK = { tool: 'todo_list', input: { items: [{ text: 'look', status: 'pending' }] } }

describe.each(DIALECTS)('%s', (provider) => {
  const place = () => arena({ model: `${provider}/test-1`, base_url: llm.url })

  // verifies: S-SDK-09 R55
  test('a call runs, its result is sent on, and the answer is the output', async () => {
    llm.script([
      { text: 'I look.', calls: [LOOK], usage: { input: 100, output: 20, cached: 40 } },
      { text: 'Done.', usage: { input: 150, output: 10 } },
    ])
    const at = place()
    const session = await at.create('plan', { instructions: 'Be brief.' })
    const answer = await session.run('Plan it.')
    expect(answer).toMatchObject({ output: 'Done.', steps: 2 })
    expect(answer.usage).toEqual({ input_tokens: 250, cache_read_tokens: 40, cache_write_tokens: 0, output_tokens: 30 })
    expect(llm.requests.map(({ dialect }) => dialect)).toEqual([provider, provider])
    const [first, second] = llm.requests
    expect(first?.text).toContain('Be brief.')
    expect(first?.text).toContain('Plan it.')
    expect(second?.text).toContain('0 of 1 are completed.')
    expect(first?.text).not.toContain('0 of 1 are completed.')
    expect(at.lines('plan').map(({ type }) => type)).toEqual([
      'session',
      'prompt',
      'steer',
      'step',
      'tool_call',
      'tool_result',
      'step',
      'answer',
    ])
    expect(at.dispatched).toEqual([
      { session_id: 'plan', session_name: 'plan', turn: 1, model: `${provider}/test-1`, kind: 'live' },
    ])
    expect(at.completed).toMatchObject([{ session_id: 'plan', turn: 1, success: true, steps: 2, cost_usd: null }])
  })

  test.each([
    ['429 with Retry-After', { status: 429, headers: { 'retry-after': '0' } }, 429],
    ['529', { status: 529 }, 529],
    ['500', { status: 500 }, 500],
    ['a stream that is cut', { text: 'Half an ans', after: 'cut' }, null],
    ['an error event within a stream', { text: 'Half an ans', after: 'error' }, null],
    ['a stream that is cut before its first word', { after: 'cut' }, null],
    ['an error event in a 200, and nothing else', { after: 'error' }, null],
  ] as const)('%s: the step is asked again, and what came before is dropped', async (_, fault, status) => {
    llm.script([fault, { text: 'Whole.' }])
    const at = place()
    const { output, steps } = await (await at.create('plan')).run('Plan it.')
    expect({ output, steps }).toEqual({ output: 'Whole.', steps: 1 })
    expect(llm.requests).toHaveLength(2)
    expect(llm.requests[1]?.text).toBe(llm.requests[0]?.text)
    expect(at.linesOf('plan', 'retry')).toMatchObject([{ attempt: 1, ...(status === null ? {} : { status }) }])
  })

  test.each([
    ['sends nothing', 'silent'],
    ['falls silent', { text: 'Half', after: 'stall' }],
  ] as const)('a provider that %s is asked again', async (_, fault) => {
    llm.script([fault, { text: 'Whole.' }])
    const at = place()
    at.open({ pace: { ...FAST, firstChunkMs: 400, chunkMs: 400 } })
    expect(await (await at.create('plan')).run('Plan it.')).toMatchObject({ output: 'Whole.' })
    // On a busy machine the next answer may be late as well.
    expect(llm.requests.length).toBeGreaterThan(1)
    expect(at.linesOf('plan', 'retry')[0]?.reason).toContain('sent nothing')
  })

  test.each([400, 401, 403, 404, 413, 422])('%i is an error at once, and the key is in no text', async (status) => {
    llm.script([{ status, message: `Incorrect API key provided: ${KEY}` }])
    const at = place()
    const run = (await at.create('plan')).run('Plan it.')
    await expect(run).rejects.toMatchObject({ code: 'session_failed', details: { status } })
    await expect(run).rejects.toThrow(/\[redacted\]/)
    await expect(run).rejects.not.toThrow(KEY)
    expect(llm.requests).toHaveLength(1)
    expect(JSON.stringify(at.lines('plan'))).not.toContain(KEY)
    expect(at.completed).toMatchObject([{ success: false, error: { code: 'session_failed' } }])
  })

  test('after four retries the error of the provider is told', async () => {
    llm.script([{ status: 503, message: 'down for today' }])
    const run = (await place().create('plan')).run('Plan it.')
    await expect(run).rejects.toThrow(/503: .*down for today/)
    expect(llm.requests).toHaveLength(5)
  })

  test.each([
    ['61', 61_000, 61_000],
    [() => new Date(Date.now() + 120_000).toUTCString(), 61_000, 120_000],
  ])('a Retry-After of over a minute is waited for (%#)', async (value, least, most) => {
    llm.script([{ status: 429, headers: { 'retry-after': typeof value === 'string' ? value : value() } }])
    const at = place()
    const run = (await at.create('plan')).run('Plan it.')
    run.catch(() => undefined)
    await expect.poll(() => at.linesOf('plan', 'retry')).toHaveLength(1)
    const wait = at.linesOf('plan', 'retry')[0]?.wait_ms ?? 0
    expect([wait >= least, wait <= most]).toEqual([true, true])
    at.stop.abort(new Error('stopped'))
    await expect(run).rejects.toThrow('stopped')
    expect(llm.requests).toHaveLength(1)
  })

  test('a slow first byte is waited for', async () => {
    llm.script([{ text: 'Late.', delayMs: 300 }])
    const at = place()
    expect(await (await at.create('plan')).run('Plan it.')).toMatchObject({ output: 'Late.' })
    expect(llm.requests).toHaveLength(1)
    expect(at.linesOf('plan', 'retry')).toEqual([])
  })

  test('two calls in a step have two results, in their order', async () => {
    const look = (path: string) => ({ tool: 'read', input: { path } })
    llm.script([{ text: 'I look.', calls: [look('gone-1'), look('gone-2')] }, { text: 'Seen.' }])
    const at = place()
    expect(await (await at.create('plan')).run('Plan it.')).toMatchObject({ output: 'Seen.', steps: 2 })
    expect(at.linesOf('plan', 'tool_result')).toHaveLength(2)
    const sent = llm.requests[1] as LlmRequest
    expect(problemIn(sent)).toBe('')
    expect(sent.text.indexOf('There is no gone-1')).toBeLessThan(sent.text.indexOf('There is no gone-2'))
  })

  test('a call in an answer that was cut does not run, and the model is told', async () => {
    llm.script([
      { calls: [{ tool: 'write', input: { path: 'a', content: 'b' } }], finish: 'length' },
      { text: 'I see.' },
    ])
    const at = place()
    expect(await (await at.create('plan')).run('Plan it.')).toMatchObject({ output: 'I see.' })
    expect(at.linesOf('plan', 'tool_result')).toMatchObject([
      { is_error: true, output: expect.stringMatching(/^Not run/) },
    ])
    expect(readdirSync(at.workspace)).toEqual([])
    expect(problemIn(llm.requests[1] as LlmRequest)).toBe('')
  })

  test('an input of 10 MiB does not run, is told, and is not paid again with each step', async () => {
    const content = 'x'.repeat(10 * 1024 * 1024)
    llm.script([{ calls: [{ tool: 'write', input: { path: 'big', content } }] }, { text: 'I see.' }])
    const at = place()
    expect(await (await at.create('plan')).run('Plan it.')).toMatchObject({ output: 'I see.' })
    expect(at.linesOf('plan', 'tool_result')).toMatchObject([
      { is_error: true, output: expect.stringMatching(/1048576/) },
    ])
    expect(readdirSync(at.workspace)).toEqual([])
    const sent = llm.requests[1] as LlmRequest
    expect(problemIn(sent)).toBe('')
    expect(sent.text.length).toBeLessThan(100_000)
    expect(JSON.stringify(at.lines('plan')).length).toBeLessThan(100_000)
  })

  test('a Retry-After over five minutes is not waited for', async () => {
    llm.script([{ status: 429, headers: { 'retry-after': '301' } }])
    await expect((await place().create('plan')).run('Plan it.')).rejects.toMatchObject({ code: 'session_failed' })
    expect(llm.requests).toHaveLength(1)
  })

  test('a refusal is session_refused', async () => {
    llm.script([{ finish: 'refusal' }])
    await expect((await place().create('plan')).run('Plan it.')).rejects.toMatchObject({ code: 'session_refused' })
  })

  test('an answer that was cut at its limit goes on', async () => {
    llm.script([{ text: 'The first half', finish: 'length' }, { text: 'and the second.' }])
    expect(await (await place().create('plan')).run('Plan it.')).toMatchObject({ output: 'and the second.', steps: 2 })
    expect(llm.requests[1]?.text).toContain('The first half')
  })

  test('an unknown tool, and an input that does not fit, are told to the model', async () => {
    llm.script([
      {
        calls: [
          { tool: 'fly', input: {} },
          { tool: 'read', input: { path: 7 } },
        ],
      },
      { text: 'I see.' },
    ])
    const at = place()
    expect(await (await at.create('plan')).run('Plan it.')).toMatchObject({ output: 'I see.' })
    const results = at.linesOf('plan', 'tool_result')
    expect(results.map(({ is_error }) => is_error)).toEqual([true, true])
    expect(results[0]?.output).toContain('There is no tool "fly"')
    expect(results[1]?.output).toContain('does not fit at /path')
    expect(llm.requests[1]?.text).toContain('There is no tool')
  })

  test.skipIf(provider === 'google')('an input that is no JSON is told to the model', async () => {
    llm.script([{ calls: [{ tool: 'read', input: '{"path": "a' }] }, { text: 'I see.' }])
    const at = place()
    expect(await (await at.create('plan')).run('Plan it.')).toMatchObject({ output: 'I see.' })
    expect(at.linesOf('plan', 'tool_result')[0]).toMatchObject({ is_error: true })
  })

  test('a second prompt goes on with the first', async () => {
    llm.script([{ text: 'One.' }, { text: 'Two.' }])
    const at = place()
    const session = await at.create('plan')
    await session.run('Say one.')
    session.steer('Loudly.')
    expect(await session.run('Say two.')).toMatchObject({ output: 'Two.', steps: 1 })
    for (const text of ['Say one.', 'One.', 'Say two.', 'Loudly.']) expect(llm.requests[1]?.text).toContain(text)
    expect(at.completed.map(({ turn }) => turn)).toEqual([1, 2])
  })
})

test('a session goes on with another provider', async () => {
  const at = arena({ model: 'anthropic/test-1', base_url: llm.url })
  llm.script([{ calls: [LOOK] }, { status: 401 }])
  await expect((await at.create('plan')).run('Plan it.')).rejects.toThrow()
  for (const provider of ['openai', 'openai-compatible', 'google']) {
    llm.script([{ calls: [LOOK] }, { status: 401 }])
    at.open()
    await expect((await at.create('plan', { model: `${provider}/test-2` })).run('Plan it.')).rejects.toThrow(/401/)
    expect(llm.requests).toHaveLength(2)
  }
})
