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
  params: { pauses: text({ label: 'Whether it pauses' }), many: text({ label: 'Side by side' }) },
  async run(ctx) {
    if (ctx.params.many) {
      const all = await Promise.all(Array.from({ length: Number(ctx.params.many) }, () => ctx.sessions.create('side')))
      const ended = await Promise.allSettled(all.map((one) => one.run('Go.')))
      const failed = ended.find((one) => one.status === 'rejected')
      if (failed) throw new Error('a part failed', { cause: failed.reason })
      return 'all'
    }
    const first = await ctx.sessions.create('first')
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

// verifies: R56-BUDGET
test('RESOLVE_BUDGET_USD is the default and the most; what is no amount is refused', { timeout: 60_000 }, async () => {
  llm.script([{ text: 'Done.', usage: { input: 1_000, output: 100 } }])
  const bound = { RESOLVE_BUDGET_USD: '2' }
  const { document } = await ran(['run', 'spender'], bound)
  expect(document).toMatchObject({ status: 'completed', budget_usd: 2 })
  const summary = join(dir, 'summary.md')
  const inJob = { ...bound, GITHUB_ACTIONS: 'true', GITHUB_STEP_SUMMARY: summary }
  const said = await place.with({ env: env(inJob) }, 'run', 'spender')
  expect(said.stderr).toContain('2200 tokens, about $0.0090 of a budget of $2.00')
  expect(readFileSync(summary, 'utf8')).toContain('LLM sessions: 2200 tokens')
  const over = await place.with({ env: env(bound) }, 'run', 'spender', '--budget-usd', '2.01')
  expect(over).toMatchObject({ code: 5, stderr: expect.stringContaining('more than the 2 that the operator allows') })
  for (const wrong of ['0', '-1', 'much', '1e3'])
    expect(await place.with({ env: env() }, 'run', 'spender', '--budget-usd', wrong)).toMatchObject({ code: 2 })
  expect(await place.with({ env: env({ RESOLVE_BUDGET_USD: 'much' }) }, 'run', 'spender')).toMatchObject({ code: 2 })
  const again = await ran(['instance', 'retry', document.instance_id])
  expect(again.document).toMatchObject({ status: 'completed', budget_usd: 2 })
})

// verifies: R56-BUDGET R56-USAGE
test('over HTTP: a budget is given, kept by a retry and a schedule, and refused over the ceiling', {
  timeout: 60_000,
}, async () => {
  llm.script([{ text: 'Done.', usage: DEAR }])
  const server = await startServe(place.home, ['--no-ui'], env({ RESOLVE_BUDGET_USD: '5' }))
  try {
    const api = client(server.url, (await place.run('token', 'create', '--scope', 'run')).stdout.trim())
    const record = async (id: string) => (await api('GET', `/instances/${id}`)).body as InstanceRecord
    const create = (body: object) => api('POST', '/instances', { resolver: 'spender', input: {}, ...body })
    const { status, body } = await create({ budget_usd: 1.25 })
    const { instance_id: id, budget_usd } = body as InstanceRecord
    expect({ status, budget_usd }).toEqual({ status: 202, budget_usd: 1.25 })
    await expect.poll(async () => (await record(id)).status, { timeout: 20_000 }).toBe('completed')
    const ended = await record(id)
    const usage = { input_tokens: 200_000, output_tokens: 0 }
    expect(ended).toMatchObject({ usage, session_kinds: ['live'], budget_usd: 1.25 })
    expect(ended.cost_usd).toBeCloseTo(0.6)
    // The record is a cache: the journal tells the same.
    expect(storyOf(place.home, id).spending).toMatchObject({ usage: ended.usage, kinds: ['live'] })
    expect((await api('POST', `/instances/${id}/retry`, {})).body).toMatchObject({ budget_usd: 1.25 })
    expect((await api('POST', `/instances/${id}/retry`, { budget_usd: 2 })).body).toMatchObject({ budget_usd: 2 })
    expect(await create({ budget_usd: 6 })).toMatchObject({ status: 422, body: { code: 'budget_too_high' } })
    for (const wrong of [0, -1, '1']) expect(await create({ budget_usd: wrong })).toMatchObject({ status: 422 })
    const words = ['@yearly', 'spender', '--budget-usd', '0.75', '--json']
    const added = await place.run('schedule', 'add', ...words)
    expect(JSON.parse(added.stdout)).toMatchObject({ schedule: { budget_usd: 0.75 } })
    expect(readFileSync(join(place.home, 'schedules.json'), 'utf8')).toContain('"budget_usd": 0.75')
  } finally {
    server.kill('SIGTERM')
    await server.ended
  }
})
