/** `run --record`, and recorded models, through the built program: what a model said once is given again, and tools run for real. */
import { chmodSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { instancePaths } from '../../src/core/store/home.ts'
import type { InstanceDocument } from '../../src/terminal/output/documents.ts'
import { addedResolver } from '../support/added-resolver.ts'
import { storyOf } from '../support/instances.ts'
import { LlmServer } from '../support/llm-server.ts'
import { type Home, newHome } from './cli.ts'
import { startServe } from './serving.ts'

const KEY = 'sk-ant-canary-0123456789'

const RESOLVER = `
import { resolver, text } from 'resolve-platform/sdk'
resolver({
  params: { task: text({ label: 'Task' }) },
  async run(ctx) {
    const work = await ctx.sessions.create('work', { agents: { helper: { description: 'Helps' } } })
    const first = await work.run('Do this: ' + ctx.params.task)
    return first.output + ' ' + (await work.run('And then?')).output
  },
}).serve()
`

let place: Home
let llm: LlmServer
let dir: string

beforeAll(async () => {
  llm = await LlmServer.start()
  place = newHome()
  dir = await addedResolver(place, 'worker', RESOLVER)
})

afterAll(async () => {
  await llm.close()
  await place.end()
  rmSync(dir, { recursive: true, force: true })
})

const live = () => ({
  RESOLVE_LLM_PROVIDER_API_KEY: KEY,
  RESOLVE_LLM_BASE_URL: llm.url,
  RESOLVE_LLM_MODEL: 'anthropic/test-1',
})

async function ran(env: Record<string, string>, task: string, ...more: string[]): Promise<InstanceDocument> {
  const { stdout } = await place.with({ env }, 'run', 'worker', '-i', `task=${task}`, '--json', ...more)
  return JSON.parse(stdout) as InstanceDocument
}

const said = [
  {
    text: 'I work.',
    calls: [
      { tool: 'shell', input: { command: `echo ${KEY} > made` }, id: 'toolu_one' },
      { tool: 'agent', input: { agent: 'helper', task: 'Help.' }, id: 'toolu_two' },
    ],
  },
  { text: 'I helped.' },
  { text: 'It is done.' },
  { text: 'Nothing more.' },
]

// verifies: R56-RECORDED R56-USAGE
test('what a run recorded is replayed without a key or a server, and says so', { timeout: 90_000 }, async () => {
  llm.script(said)
  const file = join(dir, 'run.json')
  writeFileSync(file, 'an older record')
  chmodSync(file, 0o644)
  const first = await ran(live(), 'paint', '--record', file)
  expect(first).toMatchObject({ status: 'completed', output: 'It is done. Nothing more.', session_kinds: ['live'] })
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const recorded = readFileSync(file, 'utf8')
  expect(recorded).not.toContain(KEY)
  expect(Object.keys((JSON.parse(recorded) as { sessions: object }).sessions)).toHaveLength(2)

  llm.script([{ status: 500 }])
  const env = { RESOLVE_LLM_MODEL: `recorded/${file}` }
  const again = await ran(env, 'paint')
  expect(again).toMatchObject({
    ...{ status: 'completed', output: 'It is done. Nothing more.' },
    ...{ session_kinds: ['replayed'], cost_usd: null, usage: { input_tokens: 0, output_tokens: 0 } },
  })
  expect(llm.requests).toHaveLength(0)
  const { project } = instancePaths(place.home, again.instance_id)
  expect(existsSync(join(project, 'workspace/made')) || existsSync(join(project, 'made'))).toBe(true)
  expect(storyOf(place.home, again.instance_id).sessions?.map(({ id, kind }) => ({ id, kind }))).toEqual(
    storyOf(place.home, first.instance_id).sessions?.map(({ id }) => ({ id, kind: 'replayed' })),
  )
  const person = await place.with({ env }, 'run', 'worker', '-i', 'task=paint')
  expect(person.stderr).toContain('replayed model: answers of an earlier run, tools ran for real')
  const list = await place.run('instance', 'transcript', again.instance_id)
  expect(list.stdout).toContain('replayed')

  const other = await ran(env, 'sing')
  expect(other).toMatchObject({ status: 'failed', error: { code: 'script_ended' } })
  expect(other.error?.detail).toContain('has no answer to this prompt at step 1')
})

// verifies: R56-RECORDED
test('a run at a server is recorded here; what can not be recorded is refused before it runs', {
  timeout: 90_000,
}, async () => {
  llm.script(said)
  const server = await startServe(place.home, ['--no-ui'], live())
  try {
    const token = (await place.run('token', 'create', '--scope', 'run')).stdout.trim()
    const file = join(dir, 'remote.json')
    const env = { RESOLVE_URL: server.url, RESOLVE_TOKEN: token }
    expect(await ran(env, 'paint', '--record', file)).toMatchObject({ status: 'completed' })
    expect(readFileSync(file, 'utf8')).toContain('toolu_two')
  } finally {
    server.kill('SIGTERM')
    await server.ended
  }
  const refused = [[join(dir, 'gone', 'x.json')], [dir], [join(dir, 'y.json'), '--detach']]
  for (const [file = '', ...more] of refused)
    expect(await place.run('run', 'worker', '-i', 'task=x', '--record', file, ...more)).toMatchObject({ code: 2 })
  writeFileSync(join(dir, 'odd.json'), '{"sessions":{"work":{"turns":[{"prompt":1}]}}}')
  expect(await ran({ RESOLVE_LLM_MODEL: `recorded/${join(dir, 'odd.json')}` }, 'x')).toMatchObject({
    error: { code: 'session_model_unknown' },
  })
})
