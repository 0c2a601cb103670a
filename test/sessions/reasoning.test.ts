/** How much a model thinks (docs/sessions.md, Options and results): the option arrives in the words of each protocol. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Reasoning } from '../../src/sessions/contract/contract.ts'
import { LlmServer } from '../support/llm-server.ts'
import { arena } from './arena.ts'

let llm: LlmServer

beforeAll(async () => {
  llm = await LlmServer.start()
})

afterAll(() => llm.close())

async function sent(model: string, reasoning?: Reasoning): Promise<Record<string, unknown>> {
  llm.script([{ text: 'Done.' }])
  const at = arena({ model, base_url: llm.url })
  const session = await at.create('plan', reasoning === undefined ? {} : { reasoning })
  expect(await session.run('Plan it.')).toMatchObject({ output: 'Done.' })
  return llm.requests[0]?.body ?? {}
}

test.each([
  ['anthropic/claude-sonnet-4-5', 'low', { thinking: { type: 'enabled', budget_tokens: expect.any(Number) } }],
  ['openai/gpt-5', 'low', { reasoning: { effort: 'low' } }],
  ['openai-compatible/some-model', 'high', { reasoning_effort: 'high' }],
  ['google/gemini-2.5-pro', 'high', { generationConfig: { thinkingConfig: { thinkingBudget: expect.any(Number) } } }],
] as const)('R55: %s is asked to think: %s', async (model, reasoning, body) => {
  expect(await sent(model, reasoning)).toMatchObject(body)
  const plain = JSON.stringify(await sent(model))
  expect(plain).not.toMatch(/thinking(?:Config)?":|"effort"|reasoning_effort/)
})

test('another word is refused before anything is asked', async () => {
  llm.script([])
  const at = arena({ model: 'anthropic/claude-sonnet-4-5', base_url: llm.url })
  const creating = at.create('plan', { reasoning: 'lots' as Reasoning })
  await expect(creating).rejects.toMatchObject({ code: 'session_options_invalid' })
  expect(llm.requests).toEqual([])
})
