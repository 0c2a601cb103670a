/** Agents: sessions that the model of another session gives tasks to. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type LlmRequest, LlmServer } from '../support/llm-server.ts'
import { arena } from './arena.ts'

let llm: LlmServer

beforeAll(async () => {
  llm = await LlmServer.start()
})

afterAll(() => llm.close())

const AGENTS = { reviewer: { description: 'Reviews', instructions: 'You are the reviewer.', readOnly: true } }
const isOfAgent = ({ text }: LlmRequest) => text.includes('You are the reviewer.')

test('a task runs in a session of its own, and its answer is a result', async () => {
  const at = arena({ model: 'anthropic/test', base_url: llm.url })
  let asked = 0
  llm.script([
    (request) => {
      if (isOfAgent(request)) return { text: 'Two faults.', usage: { input: 1_000, output: 1 } }
      asked += 1
      const call = (agent: string) => ({ tool: 'agent', input: { agent, task: 'Look at it.' } })
      return asked === 1 ? { calls: [call('reviewer'), call('reviewer'), call('nurse')] } : { text: 'Done.' }
    },
  ])
  const session = await at.create('work', { agents: AGENTS, instructions: 'You are the worker.' })
  expect(await session.run('Go.')).toMatchObject({ output: 'Done.', usage: { input_tokens: 20 } })
  expect(
    at
      .linesOf('work', 'tool_result')
      .map(({ output }) => output)
      .sort(),
  ).toEqual(['There is no agent "nurse". There are: reviewer.', 'Two faults.', 'Two faults.'])
  const children = at.dispatched.filter(({ parent_id }) => parent_id === 'work')
  expect(children.map(({ session_name }) => session_name)).toEqual(['reviewer', 'reviewer'])
  expect(new Set(children.map(({ session_id }) => session_id)).size).toBe(2)
  for (const request of llm.requests.filter(isOfAgent)) {
    const names = (request.body['tools'] as { name: string }[]).map(({ name }) => name)
    expect(names).toEqual(['read', 'search', 'glob', 'todo_list'])
    expect(request.text).not.toContain('You are the worker.')
  }
  expect(at.linesOf('work', 'agent').map(({ usage }) => usage.input_tokens)).toEqual([1_000, 1_000])
})

test('what agents use counts for the limits of the session', async () => {
  const at = arena({ model: 'anthropic/test', base_url: llm.url })
  llm.script([
    (request) =>
      isOfAgent(request)
        ? { text: 'Two faults.', usage: { input: 1_000, output: 1 } }
        : { calls: [{ tool: 'agent', input: { agent: 'reviewer', task: 'Look.' } }] },
  ])
  const run = (await at.create('work', { agents: AGENTS, limits: { tokens: 1_000 } })).run('Go.')
  await expect(run).rejects.toMatchObject({ code: 'session_limit', details: { what: 'tokens' } })
  expect(llm.requests).toHaveLength(2)
})

test('a failed agent is told to the model', async () => {
  const at = arena({ model: 'anthropic/test', base_url: llm.url })
  let asked = 0
  llm.script([
    (request) => {
      if (isOfAgent(request)) return { status: 403, message: 'not for you' }
      asked += 1
      return asked === 1
        ? { calls: [{ tool: 'agent', input: { agent: 'reviewer', task: 'Look.' } }] }
        : { text: 'Done.' }
    },
  ])
  expect(await (await at.create('work', { agents: AGENTS })).run('Go.')).toMatchObject({ output: 'Done.' })
  expect(at.linesOf('work', 'tool_result')).toMatchObject([
    { is_error: true, output: expect.stringContaining('not for you') },
  ])
  expect(at.completed.map(({ success }) => success)).toEqual([false, true])
})
