/**
 * LLM sessions: what a step costs above the bare call of the model, the same with eight sessions at once, and the memory that serving a
 * transcript of 100 MB takes. The model is the scripted LLM server of the tests.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { jsonSchema, type LanguageModel, type ModelMessage, streamText, type ToolSet, tool } from 'ai'
import { Sessions } from '../src/sessions/main.ts'
import { openModel } from '../src/sessions/provider/model.ts'
import { LlmServer } from '../test/support/llm-server.ts'
import { plainResolver } from '../test/support/plain-resolver.ts'
import { type Part, type Sample, Unavailable } from './figure.ts'
import { sized } from './quick.ts'

const STEPS = sized(200, 10)
const MANY = 8
const STEPS_OF_MANY = sized(25, 3)
/** As a fast model thinks. */
const ANSWER_MS = 40
const PAIRS = 1
const TRANSCRIPT_MB = sized(100, 5)
const KIB = 1024

const STEP = 'a step of 200, with a call of a tool: above'
const AT_ONCE = 'eight sessions at once, 25 steps each'
const MEMORY = 'a transcript of 100 MB: memory of the server'
const TRAJECTORY = 'a trajectory of 100 MB: memory of the server'

export const sessions: Part = {
  figures: [
    { name: STEP, against: 'streamText with the same messages', goal: { most: 10 }, isDifference: true, unit: 'ms' },
    { name: AT_ONCE, against: 'one of them alone', goal: { most: 3 } },
    { name: MEMORY, against: '–', goal: { most: 250 }, unit: 'MiB' },
    { name: TRAJECTORY, against: '–', goal: { most: 250 }, unit: 'MiB' },
  ],
  rounds: 3,
  round,
}

async function round(): Promise<Sample[]> {
  const place = mkdtempSync(join(tmpdir(), 'resolve-bench-'))
  const llm = await LlmServer.start()
  try {
    const samples: Sample[] = []
    // The first ones load code.
    await ran(place, llm, 1, 3, 0)
    await bare(llm, 3)
    for (let n = 0; n < PAIRS; n += 1) {
      const before = await bare(llm, STEPS)
      samples.push({ figure: STEP, ours: (await ran(place, llm, 1, STEPS, 0)) / STEPS, bare: before / STEPS })
      const alone = await ran(place, llm, 1, STEPS_OF_MANY, ANSWER_MS)
      samples.push({ figure: AT_ONCE, ours: await ran(place, llm, MANY, STEPS_OF_MANY, ANSWER_MS), bare: alone })
    }
    samples.push({ figure: MEMORY, value: await memoryOf('events', 1_000_000) })
    samples.push({ figure: TRAJECTORY, value: await memoryOf('atif', TRANSCRIPT_MB * 900_000) })
    return samples
  } finally {
    await llm.close()
    rmSync(place, { recursive: true, force: true })
  }
}

/** Each call is another one, and its result is a line. */
function script(llm: LlmServer, steps: number, delayMs: number): void {
  llm.script([
    ({ body }) => {
      const done = (body['messages'] as { role: string }[]).filter(({ role }) => role === 'assistant').length
      const items = [{ text: `step ${done}`, status: 'pending' }]
      return done >= steps - 1
        ? { text: 'Done.', delayMs }
        : { calls: [{ tool: 'todo_list', input: { items } }], delayMs }
    },
  ])
}

const MODEL = {
  model: 'anthropic/test',
  apiKey: 'key-of-the-bench',
  name: 'x',
  session: 'x',
  here: () => ({ prompt: '', turn: 0, step: 0 }),
  nextStep: () => 0,
}

/** How long that many sessions of an instance take for their steps together. */
async function ran(place: string, llm: LlmServer, many: number, steps: number, delayMs: number): Promise<number> {
  script(llm, steps, delayMs)
  const project = mkdtempSync(join(place, 'project-'))
  const [dir, workspace] = [join(project, '.resolve'), join(project, 'workspace')]
  for (const one of [dir, workspace]) mkdirSync(one)
  const sessions = new Sessions({
    config: {
      ...{ instance_id: '0123456789ab', resolver_name: 'bench', params: {}, capabilities: [], sub_container_token: '' },
      ...{ workspace_path: workspace, project_path: project, resolve_path: dir },
      git_provider: { type: '', base_url: '', token: '' },
      credentials: { llm_provider_api_key: MODEL.apiKey, git_host_token: '' },
      llm: { model: MODEL.model, base_url: llm.url },
    },
    dir,
    signal: new AbortController().signal,
    tellDispatched: () => {},
    tellCompleted: () => {},
  })
  const opened = await Promise.all(
    Array.from({ length: many }, () => sessions.create('work', { tools: ['todo_list'] })),
  )
  const begin = performance.now()
  await Promise.all(opened.map((session) => session.run('Work.')))
  return performance.now() - begin
}

/** The same calls by the `ai` package alone, which keeps its messages in memory. */
async function bare(llm: LlmServer, steps: number): Promise<number> {
  script(llm, steps, 0)
  const { language } = await openModel({ ...MODEL, baseUrl: llm.url })
  const tools = {
    todo_list: tool({ description: 'Keeps your list of tasks.', inputSchema: jsonSchema({ type: 'object' }) }),
  } as ToolSet
  const messages: ModelMessage[] = [{ role: 'user', content: 'Work.' }]
  const begin = performance.now()
  for (let step = 0; step < steps; step += 1) {
    const asked = { model: language as LanguageModel, messages, tools }
    const result = streamText({ ...asked, maxRetries: 0, maxOutputTokens: 32_000 })
    for await (const _ of result.stream);
    messages.push(...(await result.responseMessages))
    const content = (await result.toolCalls).map(({ toolCallId, toolName }) => ({
      ...({ type: 'tool-result', toolCallId, toolName } as const),
      output: { type: 'text' as const, value: '0 of 1 are completed.' },
    }))
    if (content.length > 0) messages.push({ role: 'tool', content })
  }
  return performance.now() - begin
}

/** How much more the server holds at most while it answers, than before. */
async function memoryOf(format: string, leastBytes: number): Promise<number> {
  if (process.platform !== 'linux') throw new Unavailable('a system that does not tell the peak memory of a process')
  const home = mkdtempSync(join(tmpdir(), 'resolve-bench-'))
  const resolver = plainResolver(
    `fs.mkdirSync(root + '/sessions/work', { recursive: true })
    const path = root + '/sessions/work/transcript.jsonl'
    const output = 'x'.repeat(10_000)
    const line = (seq, type, fields) => JSON.stringify({ seq, at: new Date().toISOString(), type, turn: 1, ...fields }) + '\\n'
    const usage = { input_tokens: 10, cache_read_tokens: 0, cache_write_tokens: 0, output_tokens: 5 }
    for (let seq = 1; seq <= ${TRANSCRIPT_MB} * 300; seq += 3)
      fs.appendFileSync(path, line(seq, 'step', { step: seq, text: '', finish: 'tool-calls', usage, cost_usd: 0 })
        + line(seq + 1, 'tool_call', { call: 'c' + seq, tool: 'read', input: {} })
        + line(seq + 2, 'tool_result', { call: 'c' + seq, tool: 'read', output, is_error: false, duration_ms: 1 }))
    me.finish({ status: 'completed' })`,
    { name: 'writer' },
  )
  const server = fork(join(import.meta.dirname, 'create-server.ts'), [home, resolver.dir], { silent: false })
  try {
    const [{ port }] = (await once(server, 'message')) as [{ port: number }]
    const api = `http://127.0.0.1:${port}/api`
    const created = await fetch(`${api}/instances`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ resolver: resolver.name, input: {} }),
    })
    const { instance_id: id } = (await created.json()) as { instance_id: string }
    const events = await fetch(`${api}/instances/${id}/events`, { headers: { accept: 'text/event-stream' } })
    for await (const chunk of events.body as AsyncIterable<Uint8Array>)
      if (/"to":"(?:completed|failed|cancelled)"/.test(Buffer.from(chunk).toString('utf8'))) break
    const pid = server.pid ?? 0
    // Forgets the peak so far.
    writeFileSync(`/proc/${pid}/clear_refs`, '5')
    const before = peakOf(pid)
    const read = await fetch(`${api}/instances/${id}/sessions/work/transcript?format=${format}`)
    let bytes = 0
    for await (const chunk of read.body as AsyncIterable<Uint8Array>) bytes += chunk.length
    if (!read.ok || bytes < sized(leastBytes, 100_000))
      throw new Error(`The transcript was answered with ${read.status}.`)
    return (peakOf(pid) - before) / KIB
  } finally {
    server.send('end')
    await once(server, 'exit')
    rmSync(home, { recursive: true, force: true })
    rmSync(resolver.dir, { recursive: true, force: true })
  }
}

/** In KiB. */
function peakOf(pid: number): number {
  return Number(/^VmHWM:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
}
