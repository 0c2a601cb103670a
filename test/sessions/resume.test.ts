/** What a session does after its process was killed: nothing is paid twice, and nothing that may have run is run again. */
import { spawn } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type LlmRequest, LlmServer } from '../support/llm-server.ts'
import { arena } from './arena.ts'

const program = new URL('../support/session-program.ts', import.meta.url).pathname

let llm: LlmServer

beforeAll(async () => {
  llm = await LlmServer.start()
})

afterAll(() => llm.close())

/** How many whole answers of the model a request holds: which step it asks for. */
function stepOf({ body }: LlmRequest): number {
  return (body['messages'] as { role: string }[]).filter(({ role }) => role === 'assistant').length + 1
}

const STEPS = [
  {
    text: 'I run it.',
    calls: [
      { tool: 'shell', input: { command: 'echo ran >> effects' }, id: 'c1' },
      { tool: 'todo_list', input: { items: [] }, id: 'c2' },
    ],
  },
  { text: 'Done.' },
  { calls: [{ tool: 'write', input: { path: 'b', content: 'b' }, id: 'c3' }] },
  { text: 'Done again.' },
]

interface Ended {
  killed: boolean
  out: string
  err: string
}

function run(dir: string, lines: number): Promise<Ended> {
  return new Promise((resolve) => {
    const { PATH = '', HOME = '' } = process.env
    const child = spawn(process.execPath, [program, dir, llm.url, String(lines)], {
      env: { PATH, HOME, RESOLVE_DIR: dir },
    })
    let [out, err] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      out += chunk
    })
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      err += chunk
    })
    child.once('close', (_, signal) => resolve({ killed: signal === 'SIGKILL', out, err }))
  })
}

// verifies: S-SDK-09 R42
test('killed at every line of the transcript, a session goes on, and no answer of the model is paid twice', async () => {
  const seen: string[] = []
  for (let lines = 1; ; lines += 1) {
    const project = mkdtempSync(join(tmpdir(), 'resolve-killed-'))
    const dir = join(project, '.resolve')
    mkdirSync(dir)
    mkdirSync(join(project, 'workspace'))
    llm.script([(request) => STEPS[stepOf(request) - 1] ?? { status: 500 }])
    const first = await run(dir, lines)
    const transcript = join(dir, 'sessions/work/transcript.jsonl')
    const whole = readFileSync(transcript, 'utf8').trimEnd().split('\n')
    const at = (JSON.parse(whole.at(-1) ?? '{}') as { type: string }).type
    const paid = whole.filter((line) => line.includes('"type":"step"')).length
    expect(llm.requests.length, at).toBe(paid)
    if (!first.killed) {
      expect(first.err).toBe('')
      expect(lines).toBeGreaterThan(15)
      rmSync(project, { recursive: true })
      break
    }
    expect(whole).toHaveLength(lines)
    seen.push(at)
    // What a kill in the middle of a line leaves.
    appendFileSync(transcript, '{"seq":99,"type":"step","mess')
    const second = await run(dir, 0)
    expect(second.err, at).toBe('')
    const { outputs, told } = JSON.parse(second.out) as { outputs: string[]; told: string[] }
    expect(outputs, at).toEqual(['Done.', 'Done again.'])
    expect(told, at).toEqual(['dispatched 1', 'completed 1 true', 'dispatched 2', 'completed 2 true'])
    expect(llm.requests.map(stepOf), `${lines} ${at}`).toEqual([1, 2, 3, 4])
    const effects = join(project, 'workspace/effects')
    const ran = existsSync(effects) ? readFileSync(effects, 'utf8').split('\n').length - 1 : 0
    // A call that had begun is not run again: the model is told that it may have had an effect.
    const isTold = readFileSync(transcript, 'utf8').includes('"call":"c1","tool":"shell","output":"Interrupted')
    expect(isTold ? [0, 1] : [1], `${lines} ${at}`).toContain(ran)
    rmSync(project, { recursive: true })
  }
  expect(new Set(seen)).toEqual(new Set(['session', 'prompt', 'steer', 'step', 'tool_call', 'tool_result', 'answer']))
}, 180_000)

// verifies: R56-STEER
test('what steer said before a stop is told to the model once, by whichever process comes first to a step', async () => {
  const at = arena({ model: 'anthropic/test', base_url: llm.url })
  const [first, second] = [new AbortController(), new AbortController()]
  const held = Promise.withResolvers<void>()
  llm.script([
    async () => {
      await held.promise
      return { text: 'late' }
    },
  ])
  const before = await at.open({ signal: first.signal }).create('work')
  const cut = before.run('A').catch(() => undefined)
  await expect.poll(() => llm.requests.length).toBe(1)
  before.steer('Loudly.', 'k1')
  before.steer('Slowly.', 'k2')
  first.abort()
  await cut
  held.resolve()
  const said = () => at.linesOf('work', 'steer').filter(({ by }) => by === 'resolver')
  expect(said()).toEqual([])
  // What a kill in the middle of a line leaves.
  appendFileSync(join(at.dir, 'sessions/work/steering.jsonl'), '{"number":9,"te')
  llm.script([{ text: 'one' }])
  const after = await at.open({ signal: second.signal }).create('work')
  // A call that is made again with its key says nothing new.
  after.steer('Slowly.', 'k2')
  after.steer('Twice.', 'k3')
  expect(await after.run('A')).toMatchObject({ output: 'one' })
  expect(said().map(({ text, number }) => [number, text])).toEqual([
    [1, 'Loudly.'],
    [2, 'Slowly.'],
    [3, 'Twice.'],
  ])
  second.abort()
  llm.script([{ text: 'two' }])
  const last = await at.open().create('work')
  await last.run('A')
  await last.run('B')
  expect(said()).toHaveLength(3)
  last.steer('Again.')
  expect(readFileSync(join(at.dir, 'sessions/work/steering.jsonl'), 'utf8')).not.toContain('Loudly.')
  expect(() => last.steer('x'.repeat(2 ** 20 + 1))).toThrow('limit')
})

test('another prompt at the same place drops that turn and those after it', async () => {
  const at = arena({ model: 'anthropic/test', base_url: llm.url })
  llm.script([{ text: 'one' }, { text: 'two' }, { text: 'three' }])
  const before = await at.create('work')
  for (const prompt of ['A', 'B', 'C']) await before.run(prompt)
  at.open()
  llm.script([{ text: 'other' }])
  const after = await at.create('work')
  expect(await after.run('A')).toMatchObject({ output: 'one' })
  expect(await after.run('X')).toMatchObject({ output: 'other' })
  expect(llm.requests).toHaveLength(1)
  const sent = llm.requests[0]?.text ?? ''
  expect([sent.includes('"A"'), sent.includes('one'), sent.includes('"B"'), sent.includes('two')]).toEqual([
    true,
    true,
    false,
    false,
  ])
  // Numbers of turns are not used again.
  // The end of a turn that is dropped is told again: the process before may not have told it.
  expect(at.completed.map(({ turn }) => turn)).toEqual([1, 2, 3, 1, 2, 3, 4])
  expect(at.linesOf('work', 'diverged')).toMatchObject([{ turn: 2 }])
})

test('sessions of one name have ids in their order', async () => {
  const at = arena({ model: 'anthropic/test', base_url: llm.url })
  llm.script([{ text: 'x' }])
  const sessions = await Promise.all(['plan', 'plan', 'a b/c', 'plan'].map((name) => at.create(name)))
  expect(sessions.map(({ id }) => id)).toEqual(['plan', 'plan-2', 'a-b-c', 'plan-3'])
})

test.each(['fifo', 'link', 'junk'])('a transcript that is made a %s is refused, and nothing hangs', async (what) => {
  const at = arena({ model: 'anthropic/test', base_url: llm.url })
  const directory = join(at.dir, 'sessions/work')
  mkdirSync(directory, { recursive: true })
  const { execFileSync } = await import('node:child_process')
  const path = join(directory, 'transcript.jsonl')
  if (what === 'fifo') execFileSync('mkfifo', [path])
  if (what === 'link') execFileSync('ln', ['-s', '/etc/passwd', path])
  if (what === 'junk') appendFileSync(path, 'not json\n')
  await expect(at.create('work')).rejects.toThrow()
})

test('no key is sessions_missing, no model says what to set, and an unknown provider is named', async () => {
  await expect(arena({ model: 'anthropic/x', base_url: '' }, '').create('a')).rejects.toMatchObject({
    code: 'sessions_missing',
  })
  await expect(arena({ model: '', base_url: '' }).create('a')).rejects.toMatchObject({ code: 'session_model_unknown' })
  await expect(arena({ model: 'acme/x', base_url: '' }).create('a')).rejects.toThrow('"acme" is no known provider')
})

test.each([
  [{ limits: { steps: 2 } }, 'steps of a run', 2],
  [{ limits: { tokens: 40 } }, 'tokens', 3],
])('%j is a limit', async (options, what, requests) => {
  const at = arena({ model: 'anthropic/test', base_url: llm.url })
  let n = 0
  llm.script([() => ({ calls: [{ tool: 'glob', input: { pattern: `${n++}` } }] })])
  const run = (await at.create('work', options)).run('Go.')
  await expect(run).rejects.toMatchObject({ code: 'session_limit', details: { what } })
  expect(llm.requests).toHaveLength(requests)
})

test('the same call with the same result is noted at the third time, and ends the run at the sixth', async () => {
  const at = arena({ model: 'anthropic/test', base_url: llm.url })
  llm.script([{ calls: [{ tool: 'read', input: { path: 'gone' } }] }])
  await expect((await at.create('work')).run('Go.')).rejects.toMatchObject({ code: 'session_stuck' })
  expect(llm.requests).toHaveLength(6)
  expect(llm.requests[3]?.text).toContain('the same call of \\"read\\" 3 times')
})

test('before the window is full, a history is made shorter: every result follows its call, and the prompt stays', async () => {
  const at = arena({ model: 'anthropic/test', base_url: llm.url })
  let calls = 0
  llm.script([
    (request) => {
      const text = JSON.stringify(request.body['messages'])
      if (request.text.includes('Summarize the work of an agent'))
        return { text: `facts: ${[...new Set(text.match(/fact-\d+/g))].join(' ')}`, usage: { input: 9, output: 9 } }
      calls += 1
      return calls > 30
        ? { text: 'Done.' }
        : { calls: [{ tool: 'fact', input: { n: calls } }], usage: { input: Math.ceil(text.length / 4), output: 10 } }
    },
  ])
  const { Sessions } = await import('../../src/sessions/main.ts')
  expect(Sessions).toBeDefined()
  const ownTools = {
    fact: {
      description: 'a fact',
      input: { type: 'object' },
      run: ({ n }: Record<string, unknown>) => `fact-${n} ${'x'.repeat(49_000)}`,
    },
  }
  const session = await at.create('work', { ownTools })
  expect(await session.run('Collect all facts, word for word.')).toMatchObject({ output: 'Done.' })
  expect(at.linesOf('work', 'compaction').length).toBeGreaterThan(0)
  for (const { body, text } of llm.requests) {
    if (text.includes('Summarize the work')) continue
    expect(text).toContain('Collect all facts, word for word.')
    expect(Buffer.byteLength(text)).toBeLessThan(200_000 * 4)
    expect(problemIn(body['messages'] as Message[])).toBe('')
  }
}, 120_000)

interface Message {
  role: string
  content: string | { type: string; id?: string; tool_use_id?: string }[]
}

/** As Anthropic checks it: roles alternate, and each call has its result in the next message. */
function problemIn(messages: readonly Message[]): string {
  for (const [at, { role, content }] of messages.entries()) {
    if (role !== (at % 2 === 0 ? 'user' : 'assistant')) return `message ${at} is of ${role}`
    const parts = typeof content === 'string' ? [] : content
    const calls = parts.filter(({ type }) => type === 'tool_use').map(({ id }) => id)
    const next = messages[at + 1]?.content ?? []
    const results =
      typeof next === 'string' ? [] : next.filter(({ type }) => type === 'tool_result').map((one) => one.tool_use_id)
    if (JSON.stringify(calls) !== JSON.stringify(results))
      return `message ${at} calls ${calls}, its results are ${results}`
  }
  return ''
}
