/** The scripted server itself: what it streams, it answers plainly too, and the real clients read the same. */
import { generateText, jsonSchema, type LanguageModel, streamText, type ToolSet, tool } from 'ai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openModel } from '../../src/sessions/provider/model.ts'
import { type Answered, DIALECTS, LlmServer, type LlmTurn } from '../support/llm-server.ts'

let llm: LlmServer

beforeAll(async () => {
  llm = await LlmServer.start()
})

afterAll(() => llm.close())

const TURNS: Record<string, Answered> = {
  text: { text: 'Hello.', usage: { input: 100, output: 20, cached: 40 } },
  'text and two calls': {
    text: 'I look.',
    calls: [
      { tool: 'look', input: { at: 'a' } },
      { tool: 'look', input: { at: 'b' } },
    ],
  },
  'a cut answer': { text: 'Half', finish: 'length' },
  'a refusal': { finish: 'refusal' },
}

test.each(DIALECTS.flatMap((provider) => Object.keys(TURNS).map((name) => [provider, name] as const)))(
  '%s: %s is the same plain and streamed',
  async (provider, name) => {
    const turn = TURNS[name] as LlmTurn
    const asked = {
      model: `${provider}/test`,
      apiKey: 'k',
      baseUrl: llm.url,
      name: 'x',
      session: 'x',
      nextStep: () => 0,
      here: () => ({ prompt: '', turn: 0, step: 0 }),
    }
    const { language } = await openModel(asked)
    const question = {
      model: language as LanguageModel,
      prompt: 'Look.',
      maxRetries: 0,
      maxOutputTokens: 100,
      tools: { look: tool({ description: 'Looks', inputSchema: jsonSchema({ type: 'object' }) }) } as ToolSet,
    }
    llm.script([turn])
    const plain = await generateText(question)
    const streamed = streamText({ ...question, onError: () => {} })
    const [text, calls, finish, usage] = await Promise.all([
      streamed.text,
      streamed.toolCalls,
      streamed.finishReason,
      streamed.usage,
    ])
    const inputs = (all: readonly { toolName: string; input: unknown }[]) => all.map((one) => [one.toolName, one.input])
    expect({ text, finish, calls: inputs(calls) }).toEqual({
      text: plain.text,
      finish: plain.finishReason,
      calls: inputs(plain.toolCalls),
    })
    expect([usage.inputTokens, usage.outputTokens]).toEqual([plain.usage.inputTokens, plain.usage.outputTokens])
    expect(text).toBe((turn as Answered).text ?? '')
    expect(llm.requests).toHaveLength(2)
  },
)
