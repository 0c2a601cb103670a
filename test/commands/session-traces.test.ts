/**
 * OpenTelemetry spans of LLM sessions, sent by the host of an instance to a collector that listens here (docs/sessions.md, Traces): the
 * built program, a real protocol, a real exporter.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { instancePaths } from '../../src/core/store/home.ts'
import { readOwner } from '../../src/core/store/owners.ts'
import { addedResolver } from '../support/added-resolver.ts'
import { storyOf } from '../support/instances.ts'
import { LlmServer } from '../support/llm-server.ts'
import { type OtlpSpan, openCollector, valuesOf } from '../support/otlp-collector.ts'
import { type Home, newHome } from './cli.ts'

const KEY = 'sk-ant-canary-0123456789'
const SECRET_OF_PROMPT = 'the plan of the moon base'

const RESOLVER = `
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { resolver, text } from 'resolve-platform/sdk'
resolver({
  params: { gate: text({ label: 'A file that is waited for between the prompts' }) },
  async run(ctx) {
    ctx.checkpoint.save(1)
    const helper = { description: 'Reads', instructions: 'Read.' }
    const session = await ctx.sessions.create('work', { agents: { helper } })
    await session.run('Do ${SECRET_OF_PROMPT}.')
    while (ctx.params.gate && !existsSync(ctx.params.gate)) await sleep(10)
    return (await session.run('Again.')).output
  },
}).serve()
`

let place: Home
let llm: LlmServer
let collector: Awaited<ReturnType<typeof openCollector>>
let dir: string

beforeEach(async () => {
  place = newHome()
  llm = await LlmServer.start()
  collector = await openCollector()
  dir = await addedResolver(place, 'traced', RESOLVER, { supports_resume: true })
})

afterEach(async () => {
  await place.end()
  await llm.close()
  collector.close()
})

const env = (more: Record<string, string> = {}) => ({
  RESOLVE_LLM_PROVIDER_API_KEY: KEY,
  RESOLVE_LLM_BASE_URL: llm.url,
  RESOLVE_LLM_MODEL: 'anthropic/test-1',
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
  ...more,
})

const STEPS = [
  { text: 'I look.', calls: [{ tool: 'shell', input: { command: 'echo seen' }, id: 'c1' }] },
  { text: 'I ask.', calls: [{ tool: 'agent', input: { agent: 'helper', task: 'Read it.' }, id: 'c2' }] },
  { text: 'Read.' },
  {
    calls: [
      { tool: 'no_such_tool', input: {}, id: 'c3' },
      { tool: 'shell', input: { command: 'exit 3' }, id: 'c4' },
    ],
  },
  { text: 'Done.' },
  { text: 'Done again.' },
]

const nameOf = ({ name }: OtlpSpan) => name
const parentOf = (all: readonly OtlpSpan[], { parentSpanId }: OtlpSpan) =>
  all.find(({ spanId }) => spanId === parentSpanId)

test('R56-TRACES: a run is one trace, whose turns, calls of the model and calls of tools are spans of the GenAI conventions', async () => {
  llm.script(STEPS)
  const { stdout, code } = await place.with({ env: env() }, 'run', 'traced', '--json')
  expect(code).toBe(0)
  const spans = collector.spans()
  expect(spans.map(nameOf).sort()).toEqual(
    [
      ...['run traced', 'invoke_agent work', 'invoke_agent work', 'invoke_agent helper'],
      ...Array(6).fill('chat test-1'),
      ...['execute_tool shell', 'execute_tool agent', 'execute_tool no_such_tool', 'execute_tool shell'],
    ].sort(),
  )
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1)
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length)
  const find = (name: string) => spans.find((span) => span.name === name) as OtlpSpan
  const chain = (from: OtlpSpan): string[] => {
    const above = parentOf(spans, from)
    return [from.name, ...(above === undefined ? [] : chain(above))]
  }
  expect(chain(find('execute_tool shell'))).toEqual(['execute_tool shell', 'invoke_agent work', 'run traced'])
  // An agent's session hangs below the call that started it.
  expect(chain(find('invoke_agent helper'))).toEqual([
    'invoke_agent helper',
    'execute_tool agent',
    'invoke_agent work',
    'run traced',
  ])
  expect(valuesOf(find('chat test-1').attributes)).toMatchObject({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'anthropic',
    'gen_ai.request.model': 'test-1',
    'gen_ai.conversation.id': expect.stringMatching(/^work/),
  })
  const [first] = spans.filter(({ name }) => name === 'invoke_agent work')
  expect(valuesOf(first?.attributes)['gen_ai.usage.input_tokens']).toBeGreaterThan(0)
  const wrong = find('execute_tool no_such_tool')
  expect(valuesOf(wrong.attributes)).toMatchObject({ 'gen_ai.tool.call.id': 'c3', 'error.type': 'tool_error' })
  expect(wrong.status.code).toBe(2)
  for (const span of spans) {
    const above = parentOf(spans, span)
    expect(BigInt(span.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(span.startTimeUnixNano))
    if (above !== undefined)
      expect(BigInt(span.startTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(above.startTimeUnixNano))
  }
  // Contents are not told unless asked.
  const sent = JSON.stringify(collector.received.map(({ body }) => body))
  expect(sent).not.toContain(SECRET_OF_PROMPT)
  expect(sent).not.toContain('echo seen')
  expect(sent).not.toContain(KEY)
  const { instance_id: id } = JSON.parse(stdout) as { instance_id: string }
  expect(valuesOf(find('run traced').attributes)).toEqual({
    'resolve.instance.id': id,
    'resolve.resolver.name': 'traced',
    'resolve.status': 'completed',
  })
})

test('R56-TRACES: contents are sent where they are asked for, without secrets', async () => {
  const [look, ...rest] = STEPS
  const tells = { ...look, text: `The key is ${KEY}.` }
  llm.script([tells, ...rest])
  const asked = env({ OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' })
  await place.with({ env: asked }, 'run', 'traced', '--json')
  const sent = JSON.stringify(collector.received.map(({ body }) => body))
  expect(sent).toContain(SECRET_OF_PROMPT)
  expect(sent).toContain('echo seen')
  expect(sent).toContain('[redacted]')
  expect(sent).not.toContain(KEY)
})

test('R56-TRACES: a run whose host was killed has each span once, and those of the next host belong to the same trace', async () => {
  llm.script(STEPS)
  const gate = join(dir, 'gate')
  const stdin = JSON.stringify({ gate })
  const quick = env({ OTEL_BSP_SCHEDULE_DELAY: '50' })
  const { stdout } = await place.with({ env: quick, stdin }, 'run', 'traced', '--input-file', '-', '--detach', '--json')
  const { instance_id: id } = JSON.parse(stdout) as { instance_id: string }
  await expect
    .poll(() => collector.spans().some(({ name }) => name === 'invoke_agent work'), { timeout: 60_000 })
    .toBe(true)
  process.kill(readOwner(instancePaths(place.home, id).owners)?.process.pid as number, 'SIGKILL')
  writeFileSync(gate, '')
  while (!existsSync(gate)) await sleep(10)
  const { code } = await place.with({ env: quick }, 'watch', id, '--json')
  expect(code).toBe(0)
  expect(storyOf(place.home, id).status).toBe('completed')
  await expect.poll(() => collector.spans().some(({ name }) => name === 'run traced'), { timeout: 30_000 }).toBe(true)
  const spans = collector.spans()
  expect(spans.filter(({ name }) => name === 'invoke_agent work')).toHaveLength(2)
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length)
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1)
})

test('without an exporter nothing is sent, and with one that no program answers the run ends as ever', async () => {
  llm.script(STEPS)
  const none = { ...env(), OTEL_SDK_DISABLED: 'true' }
  expect((await place.with({ env: none }, 'run', 'traced', '--json')).code).toBe(0)
  expect(collector.received).toEqual([])
  llm.script(STEPS)
  const away = env({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_EXPORTER_OTLP_TIMEOUT: '500' })
  const { code, stderr } = await place.with({ env: away }, 'run', 'traced', '--json')
  expect(code).toBe(0)
  expect(stderr).toContain('completed')
})
