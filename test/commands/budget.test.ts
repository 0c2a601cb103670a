/** What LLM sessions use and may cost, through the built program and a server: the record, the documents, the end of a run. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { InstanceRecord } from '../../src/core/protocol/instance.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import type { InstanceDocument } from '../../src/terminal/output/documents.ts'
import { addedResolver } from '../support/added-resolver.ts'
import { storyOf } from '../support/instances.ts'
import { LlmServer } from '../support/llm-server.ts'
import { type Home, newHome } from './cli.ts'
import { client, startServe } from './serving.ts'

/** In the price list of the program: 3 dollars for a million tokens in, 15 for a million out. */
const PRICED = 'anthropic/claude-sonnet-4-5'

const RESOLVER = `
import { resolver, text } from 'resolve-platform/sdk'
resolver({
  params: { pauses: text({ label: 'Whether it pauses' }), many: text({ label: 'Side by side' }), catches: text({ label: 'How it ends' }) },
  async run(ctx) {
    if (ctx.params.many) {
      const all = await Promise.all(Array.from({ length: Number(ctx.params.many) }, () => ctx.sessions.create('side')))
      const ended = await Promise.allSettled(all.map((one) => one.run('Go.')))
      const failed = ended.find((one) => one.status === 'rejected')
      if (failed) throw new Error('a part failed', { cause: failed.reason })
      return 'all'
    }
    const first = await ctx.sessions.create('first')
    if (ctx.params.catches) {
      const refused = await first.run('Do it.').catch((error) => error)
      ctx.artifact('summary', 'what was done')
      if (ctx.params.catches === 'throws') throw new Error('My own words after ' + refused.code)
      return 'Done until the budget ended'
    }
    const { output } = await first.run('Do it.')
    if (ctx.params.pauses && !ctx.resume) { ctx.checkpoint.save(1); ctx.pause('paused after the first') }
    return output + ' ' + (await (await ctx.sessions.create('second')).run('Again.')).output
  },
}).serve()
`

let place: Home
let llm: LlmServer
let dir: string

beforeAll(async () => {
  llm = await LlmServer.start()
  place = newHome()
  dir = await addedResolver(place, 'spender', RESOLVER, { supports_resume: true })
})

afterAll(async () => {
  await llm.close()
  await place.end()
})

const env = (more: Record<string, string> = {}) => ({
  RESOLVE_LLM_PROVIDER_API_KEY: 'sk-ant-canary-0123456789',
  RESOLVE_LLM_BASE_URL: llm.url,
  RESOLVE_LLM_MODEL: PRICED,
  ...more,
})

interface Ran {
  code: number | null
  document: InstanceDocument
  stderr: string
}

async function ran(words: readonly string[], more: Record<string, string> = {}): Promise<Ran> {
  const { stdout, stderr, code } = await place.with({ env: env(more) }, ...words, '--json')
  return { code, document: JSON.parse(stdout) as InstanceDocument, stderr }
}

const LOOK = { tool: 'shell', input: { command: 'echo kept > made' } }
/** 0.30 dollars. */
const DEAR = { input: 100_000, output: 0 }

// verifies: R56-BUDGET R56-USAGE
test('a run ends at its budget, over by one step at most, and what was done so far stays', {
  timeout: 60_000,
}, async () => {
  llm.script([{ text: 'I begin.', calls: [LOOK], usage: DEAR }])
  const { code, document, stderr } = await ran(['run', 'spender', '--budget-usd', '0.5'])
  expect(code).toBe(1)
  expect(document).toMatchObject({
    status: 'failed',
    error: { code: 'budget_exceeded', detail: expect.stringContaining('0.6000 of 0.5 US dollars') },
    usage: { input_tokens: 200_000, output_tokens: 0 },
    session_kinds: ['live'],
    budget_usd: 0.5,
    sessions_used: 1,
  })
  expect(document.cost_usd).toBeCloseTo(0.6)
  expect(llm.requests).toHaveLength(2)
  // 0.20 dollars are left for the second step, of which the history takes its part.
  expect(Number(llm.requests[0]?.body['max_tokens'])).toBe(32_000)
  expect(Number(llm.requests[1]?.body['max_tokens'])).toBeLessThan(13_334)
  expect(stderr).toContain('budget_exceeded')
  const paths = instancePaths(place.home, document.instance_id)
  expect(existsSync(join(paths.project, '.resolve/sessions/first/transcript.jsonl'))).toBe(true)
  expect(storyOf(place.home, document.instance_id).sessions).toMatchObject([
    { id: 'first', status: 'failed', steps: 2, error: { code: 'budget_exceeded' } },
  ])
  const shown = await place.run('instance', 'show', document.instance_id)
  expect(shown.stdout).toContain('200000 tokens, about $0.60 of a budget of $0.50')
})

// verifies: R56-BUDGET
test('what was spent before a pause counts after it, for every session', { timeout: 60_000 }, async () => {
  llm.script([{ text: 'One.', usage: DEAR }])
  const paused = await ran(['run', 'spender', '-i', 'pauses=yes', '--budget-usd', '0.5'])
  expect(paused.document).toMatchObject({ status: 'paused', budget_usd: 0.5 })
  expect(paused.document.cost_usd).toBeCloseTo(0.3)
  llm.script([{ text: 'I go on.', calls: [LOOK], usage: DEAR }])
  const { document } = await ran(['instance', 'resume', paused.document.instance_id])
  expect(document).toMatchObject({ status: 'failed', error: { code: 'budget_exceeded' } })
  expect(document.cost_usd).toBeCloseTo(0.6)
  expect(llm.requests).toHaveLength(1)
})

// verifies: R56-BUDGET
test('sessions side by side are over the budget by one step together', { timeout: 60_000 }, async () => {
  llm.script([{ text: 'I look.', calls: [LOOK], usage: { input: 100_000, output: 10_000 } }])
  const { document } = await ran(['run', 'spender', '-i', 'many=6', '--budget-usd', '1'])
  // The resolver passes the error on as the cause of its own.
  expect(document).toMatchObject({ status: 'failed', error: { code: 'budget_exceeded' } })
  const step = 0.45
  expect(Number(document.cost_usd)).toBeGreaterThanOrEqual(1)
  expect(Number(document.cost_usd)).toBeLessThan(1 + step + 0.001)
})

// verifies: R56-OVER
test.each([
  ['returns', '0.6000 of 0.5 US dollars.'],
  ['throws', '0.6000 of 0.5 US dollars. My own words after budget_exceeded'],
])(
  'a resolver that catches the refusal and %s ends over its budget, with what it has done',
  {
    timeout: 60_000,
  },
  async (catches, words) => {
    llm.script([{ text: 'I begin.', calls: [LOOK], usage: DEAR }])
    const { code, document } = await ran(['run', 'spender', '-i', `catches=${catches}`, '--budget-usd', '0.5'])
    expect(code).toBe(1)
    expect(document).toMatchObject({
      status: 'failed',
      output: catches === 'returns' ? 'Done until the budget ended' : null,
      error: { code: 'budget_exceeded', detail: expect.stringContaining(words) },
    })
    expect(storyOf(place.home, document.instance_id).artifacts).toMatchObject([
      { kind: 'summary', value: 'what was done' },
    ])
  },
)

// verifies: R56-TOKENS
test('tokens are a budget too, over a pause and without a price; the bound that is reached first counts', {
  timeout: 60_000,
}, async () => {
  const unheard = { RESOLVE_LLM_MODEL: 'anthropic/unheard-of' }
  llm.script([{ text: 'One.', usage: DEAR }])
  const paused = await ran(['run', 'spender', '-i', 'pauses=yes', '--budget-tokens', '120000'], unheard)
  expect(paused.document).toMatchObject({ status: 'paused', budget_tokens: 120_000, budget_usd: null })
  llm.script([{ text: 'I go on.', calls: [LOOK], usage: DEAR }])
  const { document } = await ran(['instance', 'resume', paused.document.instance_id], unheard)
  expect(document).toMatchObject({
    status: 'failed',
    error: { code: 'budget_exceeded', detail: expect.stringContaining('200000 of 120000 tokens') },
    usage: { input_tokens: 200_000 },
  })
  expect(llm.requests).toHaveLength(1)
  // 20,000 tokens are left, of which the history takes its part.
  expect(Number(llm.requests[0]?.body['max_tokens'])).toBeLessThan(20_000)
  const shown = await place.run('instance', 'show', document.instance_id)
  expect(shown.stdout).toContain('budget    120000 tokens for LLM sessions')
  expect(shown.stdout).toContain('200000 tokens of a budget of 120000')
  llm.script([{ text: 'I begin.', calls: [LOOK], usage: DEAR }])
  const both = await ran(['run', 'spender', '--budget-usd', '5', '--budget-tokens', '150000'])
  expect(both.document).toMatchObject({ budget_usd: 5, error: { detail: expect.stringContaining('150000 tokens') } })
  expect(both.document.cost_usd).toBeCloseTo(0.6)
})

// verifies: R56-TOKENS
test('sessions side by side are over a budget of tokens by one step together', { timeout: 60_000 }, async () => {
  llm.script([{ text: 'I look.', calls: [LOOK], usage: { input: 100, output: 30_000 } }])
  const { document } = await ran(['run', 'spender', '-i', 'many=6', '--budget-tokens', '100000'])
  expect(document).toMatchObject({ status: 'failed', error: { code: 'budget_exceeded' } })
  const used = Number(document.usage?.input_tokens) + Number(document.usage?.output_tokens)
  expect(used).toBeGreaterThanOrEqual(100_000)
  expect(used).toBeLessThanOrEqual(131_000)
})

// verifies: R56-BUDGET
test('an answer that the rest of the budget cuts is the last one', { timeout: 60_000 }, async () => {
  llm.script([{ text: 'Half', finish: 'length', usage: { input: 10, output: 400 } }])
  const { document } = await ran(['run', 'spender', '--budget-usd', '0.01'])
  expect(document).toMatchObject({ status: 'failed', error: { code: 'budget_exceeded' } })
  expect(llm.requests).toHaveLength(1)
})

// verifies: R56-BUDGET
test('the session of a model of unknown price is refused under a budget', { timeout: 60_000 }, async () => {
  llm.script([{ text: 'Free.' }])
  const { document } = await ran(['run', 'spender', '--budget-usd', '1'], { RESOLVE_LLM_MODEL: 'anthropic/unheard-of' })
  expect(document.error).toMatchObject({
    code: 'session_options_invalid',
    detail: expect.stringContaining("the budget of the instance can't hold"),
  })
  expect(llm.requests).toHaveLength(0)
  const free = await ran(['run', 'spender'], { RESOLVE_LLM_MODEL: 'anthropic/unheard-of' })
  expect(free.document).toMatchObject({ status: 'completed', cost_usd: null, budget_usd: null })
  const said = await place.with({ env: env({ RESOLVE_LLM_MODEL: 'anthropic/unheard-of' }) }, 'run', 'spender')
  expect(said.stderr).toContain('30 tokens, at a price that is not known')
})

// verifies: R56-BUDGET R56-TOKENS
test('RESOLVE_BUDGET_USD and RESOLVE_BUDGET_TOKENS are the default and the most; what is no amount is refused', {
  timeout: 60_000,
}, async () => {
  llm.script([{ text: 'Done.', usage: { input: 1_000, output: 100 } }])
  const bound = { RESOLVE_BUDGET_USD: '2', RESOLVE_BUDGET_TOKENS: '9000' }
  const { document } = await ran(['run', 'spender'], bound)
  expect(document).toMatchObject({ status: 'completed', budget_usd: 2, budget_tokens: 9_000 })
  const summary = join(dir, 'summary.md')
  const inJob = { ...bound, GITHUB_ACTIONS: 'true', GITHUB_STEP_SUMMARY: summary }
  const said = await place.with({ env: env(inJob) }, 'run', 'spender')
  expect(said.stderr).toContain('2200 tokens of a budget of 9000, about $0.0090 of a budget of $2.00')
  expect(readFileSync(summary, 'utf8')).toContain('LLM sessions: 2200 tokens')
  const over = await place.with({ env: env(bound) }, 'run', 'spender', '--budget-usd', '2.01')
  expect(over).toMatchObject({ code: 5, stderr: expect.stringContaining('more than the 2 that the operator allows') })
  const tokens = await place.with({ env: env(bound) }, 'run', 'spender', '--budget-tokens', '9001')
  expect(tokens).toMatchObject({ code: 5, stderr: expect.stringContaining('raise RESOLVE_BUDGET_TOKENS') })
  for (const wrong of ['0', '1.5', '1e3'])
    expect(await place.with({ env: env() }, 'run', 'spender', '--budget-tokens', wrong)).toMatchObject({ code: 2 })
  for (const wrong of ['0', '-1', 'much', '1e3'])
    expect(await place.with({ env: env() }, 'run', 'spender', '--budget-usd', wrong)).toMatchObject({ code: 2 })
  expect(await place.with({ env: env({ RESOLVE_BUDGET_USD: 'much' }) }, 'run', 'spender')).toMatchObject({ code: 2 })
  const again = await ran(['instance', 'retry', document.instance_id])
  expect(again.document).toMatchObject({ status: 'completed', budget_usd: 2, budget_tokens: 9_000 })
})

// verifies: R56-BUDGET R56-TOKENS R56-USAGE
test('over HTTP: a budget is given, kept by a retry and a schedule, and refused over the ceiling', {
  timeout: 60_000,
}, async () => {
  llm.script([{ text: 'Done.', usage: DEAR }])
  const server = await startServe(place.home, ['--no-ui'], env({ RESOLVE_BUDGET_USD: '5' }))
  try {
    const api = client(server.url, (await place.run('token', 'create', '--scope', 'run')).stdout.trim())
    const record = async (id: string) => (await api('GET', `/instances/${id}`)).body as InstanceRecord
    const create = (body: object) => api('POST', '/instances', { resolver: 'spender', input: {}, ...body })
    const { status, body } = await create({ budget_usd: 1.25, budget_tokens: 250_000 })
    const { instance_id: id, budget_usd, budget_tokens } = body as InstanceRecord
    expect({ status, budget_usd, budget_tokens }).toEqual({ status: 202, budget_usd: 1.25, budget_tokens: 250_000 })
    await expect.poll(async () => (await record(id)).status, { timeout: 20_000 }).toBe('completed')
    const ended = await record(id)
    const usage = { input_tokens: 200_000, output_tokens: 0 }
    expect(ended).toMatchObject({ usage, session_kinds: ['live'], budget_usd: 1.25, budget_tokens: 250_000 })
    expect(ended.cost_usd).toBeCloseTo(0.6)
    // The record is a cache: the journal tells the same.
    expect(storyOf(place.home, id).spending).toMatchObject({ usage: ended.usage, kinds: ['live'] })
    expect((await api('POST', `/instances/${id}/retry`, {})).body).toMatchObject({
      budget_usd: 1.25,
      budget_tokens: 250_000,
    })
    expect((await api('POST', `/instances/${id}/retry`, { budget_usd: 2, budget_tokens: 7 })).body).toMatchObject({
      budget_usd: 2,
      budget_tokens: 7,
    })
    expect(await create({ budget_usd: 6 })).toMatchObject({ status: 422, body: { code: 'budget_too_high' } })
    for (const wrong of [0, -1, '1']) expect(await create({ budget_usd: wrong })).toMatchObject({ status: 422 })
    for (const wrong of [0, 1.5, '1']) expect(await create({ budget_tokens: wrong })).toMatchObject({ status: 422 })
    const words = ['@yearly', 'spender', '--budget-usd', '0.75', '--budget-tokens', '5', '--json']
    const added = await place.run('schedule', 'add', ...words)
    expect(JSON.parse(added.stdout)).toMatchObject({ schedule: { budget_usd: 0.75, budget_tokens: 5 } })
    expect(readFileSync(join(place.home, 'schedules.json'), 'utf8')).toContain('"budget_usd": 0.75')
  } finally {
    server.kill('SIGTERM')
    await server.ended
  }
})
