/** `resolve instance transcript`: a resolver with LLM sessions, through the built program, with a real protocol and with a script. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { SessionSummary, TranscriptDocument } from '../../src/core/protocol/session/session.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { addedResolver } from '../support/added-resolver.ts'
import { storyOf } from '../support/instances.ts'
import { LlmServer } from '../support/llm-server.ts'
import { type Home, newHome } from './cli.ts'

const KEY = 'sk-ant-canary-0123456789'

const GIF = 'R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs='

const RESOLVER = `
import { resolver, text } from 'resolve-platform/sdk'
resolver({
  params: { model: text({ label: 'Model' }), pauses: text({ label: 'Whether it pauses' }) },
  async run(ctx) {
    const options = ctx.params.model ? { model: ctx.params.model } : {}
    const plan = await ctx.sessions.create('plan', { ...options, readOnly: true })
    const { output } = await plan.run('Plan it.', { images: [{ data: Buffer.from('${GIF}', 'base64'), mediaType: 'image/gif' }] })
    if (ctx.params.pauses && !ctx.resume) { ctx.checkpoint.save(1); ctx.pause('paused after the plan') }
    const work = await ctx.sessions.create('plan', options)
    return output + ' ' + (await work.run('Do it: ' + output)).output
  },
}).serve()
`

let place: Home
let llm: LlmServer
let script: string

beforeAll(async () => {
  llm = await LlmServer.start()
  place = newHome()
  const dir = await addedResolver(place, 'planner', RESOLVER, { supports_resume: true })
  script = join(dir, 'script.json')
  const turns = [
    {
      text: 'I write.',
      calls: [{ tool: 'shell', input: { command: 'echo done > made; env | grep -c canary; echo end' } }],
    },
    { text: 'Written.' },
  ]
  writeFileSync(script, JSON.stringify({ sessions: { plan: turns } }))
})

afterAll(async () => {
  await llm.close()
  await place.end()
})

async function ran(
  input: Record<string, string>,
  ...args: string[]
): Promise<{ id: string; status: string; output: string }> {
  const env = { RESOLVE_LLM_PROVIDER_API_KEY: KEY, RESOLVE_LLM_BASE_URL: llm.url, RESOLVE_LLM_MODEL: 'test-1' }
  const { stdout } = await place.with(
    { env, stdin: JSON.stringify(input) },
    'run',
    'planner',
    '--input-file',
    '-',
    '--json',
    ...args,
  )
  const {
    instance_id: id,
    status,
    output,
  } = JSON.parse(stdout) as { instance_id: string; status: string; output: string }
  return { id, status, output }
}

async function json<T>(...words: string[]): Promise<T> {
  const { stdout, stderr, code } = await place.run(...words, '--json')
  expect({ code, stderr }).toMatchObject({ code: 0 })
  return JSON.parse(stdout) as T
}

// verifies: R56 R55 S-SDK-09 R56-SEES
test('sessions are told by events of the platform, listed, and read; the key is nowhere', async () => {
  llm.script([
    { calls: [{ tool: 'todo_list', input: { items: [{ text: `say ${KEY}`, status: 'pending' }] } }] },
    { text: `The plan, with ${KEY}.`, usage: { input: 100, output: 10 } },
    { text: 'All done.', usage: { input: 50, output: 5 } },
  ])
  const { id, status, output } = await ran({})
  expect({ status, output }).toEqual({ status: 'completed', output: 'The plan, with [redacted]. All done.' })
  expect(llm.requests[0]?.dialect).toBe('anthropic')
  expect(llm.requests[0]?.text).toContain(GIF)
  expect(llm.requests[0]?.headers['x-api-key']).toBe(KEY)
  const { sessions } = await json<{ sessions: SessionSummary[] }>('instance', 'transcript', id)
  expect(sessions).toMatchObject([
    {
      id: 'plan',
      name: 'plan',
      status: 'completed',
      kind: 'live',
      model: 'anthropic/test-1',
      turns: 1,
      steps: 2,
      cost_usd: null,
    },
    { id: 'plan-2', name: 'plan', status: 'completed', steps: 1, usage: { input_tokens: 50, output_tokens: 5 } },
  ])
  const { events, meta } = await json<TranscriptDocument>('instance', 'transcript', id, 'plan')
  expect(events.map(({ type }) => type)).toEqual([
    ...['session:start', 'prompt:submit', 'prompt:submit', 'content_block:end', 'tool:pre', 'tool:post'],
    ...['content_block:end', 'prompt:complete'],
  ])
  const next = expect.any(Number) as number
  expect(meta).toEqual({ total_lines: 8, extracted_events: 8, truncated_fields: 0, truncated: false, next })
  const person = await place.run('instance', 'transcript', id, 'plan')
  expect(person.stdout).toContain('Plan it.')
  expect(person.stdout).toContain('[image: image/gif, 29 bytes]')
  expect(await place.run('instance', 'transcript', id, 'plan', '--follow')).toEqual(person)
  const atif = await place.run('instance', 'transcript', id, 'plan', '--format', 'atif')
  expect(JSON.parse(atif.stdout)).toMatchObject({
    schema_version: 'ATIF-v1.4',
    agent: { name: 'plan', version: '1.0.0' },
    steps: expect.arrayContaining([expect.objectContaining({ message: 'Plan it.\n[image: image/gif, 29 bytes]' })]),
  })
  expect((await place.run('instance', 'transcript', id, '../plan')).code).toBe(6)
  expect((await place.run('instance', 'transcript', id, 'gone')).code).toBe(6)
  const paths = instancePaths(place.home, id)
  const transcript = readFileSync(join(paths.project, '.resolve/sessions/plan/transcript.jsonl'), 'utf8')
  const journal = readFileSync(paths.journal, 'utf8')
  for (const text of [transcript, journal, person.stdout, JSON.stringify(sessions)]) expect(text).not.toContain(KEY)
  const types = [...journal.matchAll(/"event_type":"([^"]*session_[^"]*)"/g)].map(([, type]) => type)
  expect(types).toEqual([
    'platform.resolver.session_dispatched',
    'platform.resolver.session_completed',
    'platform.resolver.session_dispatched',
    'platform.resolver.session_completed',
  ])
  expect(storyOf(place.home, id).sessionsUsed).toBe(2)
}, 60_000)

// verifies: R56
test('after a pause, what was answered is not asked again, and each turn is told once', async () => {
  llm.script([{ text: 'The plan.' }, { text: 'All done.' }])
  const { id, status } = await ran({ pauses: 'yes' })
  expect(status).toBe('paused')
  expect(llm.requests).toHaveLength(1)
  const env = { RESOLVE_LLM_PROVIDER_API_KEY: KEY, RESOLVE_LLM_BASE_URL: llm.url, RESOLVE_LLM_MODEL: 'test-1' }
  const resumed = await place.with({ env }, 'instance', 'resume', id, '--json')
  expect(JSON.parse(resumed.stdout)).toMatchObject({ status: 'completed', output: 'The plan. All done.' })
  expect(llm.requests).toHaveLength(2)
  const journal = readFileSync(instancePaths(place.home, id).journal, 'utf8')
  expect(journal.match(/platform\.resolver\.session_dispatched/g)).toHaveLength(2)
  expect(journal.match(/platform\.resolver\.session_completed/g)).toHaveLength(2)
}, 60_000)

test('a scripted model needs no key; its tools run, its kind is told, and no secret is in their environment', async () => {
  llm.script([{ status: 500 }])
  const { stdout } = await place.with(
    { stdin: JSON.stringify({ model: `scripted/${script}` }) },
    ...['run', 'planner', '--input-file', '-', '--json'],
  )
  const {
    instance_id: id,
    status,
    output,
  } = JSON.parse(stdout) as { instance_id: string; status: string; output: string }
  expect({ status, output }).toEqual({ status: 'completed', output: 'Written. Written.' })
  expect(llm.requests).toHaveLength(0)
  const { sessions } = await json<{ sessions: SessionSummary[] }>('instance', 'transcript', id)
  expect(sessions.map(({ kind, cost_usd }) => ({ kind, cost_usd }))).toEqual([
    { kind: 'scripted', cost_usd: null },
    { kind: 'scripted', cost_usd: null },
  ])
  // The first session is readOnly: it has no shell.
  const first = await json<TranscriptDocument>('instance', 'transcript', id, 'plan')
  expect(first.events.find(({ type }) => type === 'tool:error')?.data['output']).toContain('There is no tool "shell"')
  // A person reads what it wanted to run.
  const shown = await place.run('instance', 'transcript', id, 'plan')
  expect(shown.stdout).toContain('tool:error shell {"command":"echo done > made;')
  const atif = await place.run('instance', 'transcript', id, 'plan', '--format', 'atif')
  expect(atif.stdout).toContain('"command":"echo done > made;')
  const second = await json<TranscriptDocument>('instance', 'transcript', id, 'plan-2')
  expect(second.events.find(({ type }) => type === 'tool:post')?.data['output']).toBe('0\nend\n[exit code 0]')
}, 60_000)

test('a command that puts a FIFO in the place of state, checkpoint or a data file holds no resolver', async () => {
  const dir = await addedResolver(
    place,
    'held',
    `
import { resolver } from 'resolve-platform/sdk'
resolver({
  async run(ctx) {
    ctx.checkpoint.save({ done: 1 })
    await ctx.data.write('notes.txt', 'x')
    const session = await ctx.sessions.create('work', { model: 'scripted/script.json' })
    await session.run('Go.')
    const told = [String(ctx.state['phase'])]
    ctx.phase('after')
    try { ctx.checkpoint.load() } catch (error) { told.push(error.code) }
    await ctx.data.read('notes.txt').catch((error) => told.push(error.code))
    return [...told, ctx.state['phase']].join(' ')
  },
}).serve()
`,
  )
  const command =
    'cd "$RESOLVE_DIR" && for f in state.json checkpoint.json data/notes.txt; do rm -f $f; mkfifo $f || exit 1; done'
  const turns = [{ calls: [{ tool: 'shell', input: { command } }] }, { text: 'Done.' }]
  writeFileSync(join(dir, 'script.json'), JSON.stringify({ sessions: { work: turns } }))
  const { stdout } = await place.run('run', 'held', '--json')
  expect(JSON.parse(stdout)).toMatchObject({
    status: 'completed',
    output: 'undefined coordination_tampered coordination_tampered after',
  })
}, 60_000)

test('a failed session fails the run with its code', async () => {
  llm.script([{ status: 401, message: `bad key ${KEY}` }])
  const { id, status } = await ran({})
  expect(status).toBe('failed')
  expect(storyOf(place.home, id).completion?.error).toMatchObject({
    code: 'session_failed',
    detail: expect.stringContaining('401'),
  })
  const { sessions } = await json<{ sessions: SessionSummary[] }>('instance', 'transcript', id)
  expect(sessions).toMatchObject([{ id: 'plan', status: 'failed', error: { code: 'session_failed' } }])
}, 60_000)
