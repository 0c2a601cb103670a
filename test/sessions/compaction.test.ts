/** Histories that outgrow the window of their model: what providers refuse, what is made shorter, and what stays (docs/sessions.md). */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Bounds, windowIn } from '../../src/sessions/loop/bounds.ts'
import { judgeError } from '../../src/sessions/loop/judge-error.ts'
import { windowOf } from '../../src/sessions/provider/price.ts'
import { problemIn } from '../support/llm-requests.ts'
import { type Answered, DIALECTS, type Dialect, type LlmRequest, LlmServer } from '../support/llm-server.ts'
import { arena } from './arena.ts'

let llm: LlmServer

beforeAll(async () => {
  llm = await LlmServer.start()
})

afterAll(() => llm.close())

/** As each provider refuses a request that is too long. */
const TOO_LONG: Record<Dialect, (tokens: number, window: number) => string> = {
  anthropic: (tokens, window) => `prompt is too long: ${tokens} tokens > ${window} maximum`,
  openai: () => 'Your input exceeds the context window of this model. Please adjust your input and try again.',
  'openai-compatible': (tokens, window) =>
    `This model's maximum context length is ${window} tokens. However, you requested ${tokens} tokens. Please reduce the length of the messages or completion.`,
  google: (tokens, window) =>
    `The input token count (${tokens}) exceeds the maximum number of tokens allowed (${window}).`,
}

const isSummary = ({ text }: LlmRequest) => text.includes('Summarize the work of an agent')

interface Step {
  text: number
  results: readonly number[]
  /** The name of a tool that is not there. */
  isLost: boolean
}

interface Case {
  turns: readonly { prompt: number; steps: readonly Step[] }[]
  /** The first call for a summary fails for a moment. */
  isFlaky: boolean
}

const step: fc.Arbitrary<Step> = fc.record({
  text: fc.nat(400),
  results: fc.array(fc.nat(6_000), { minLength: 1, maxLength: 3 }),
  isLost: fc.boolean(),
})

const cases: fc.Arbitrary<Case> = fc.record({
  turns: fc.array(fc.record({ prompt: fc.nat(500), steps: fc.array(step, { maxLength: 14 }) }), {
    minLength: 1,
    maxLength: 3,
  }),
  isFlaky: fc.boolean(),
})

/** More results than fit: each case is made shorter several times. */
const LONG: Case = {
  turns: [7, 9].map((prompt) => ({
    prompt,
    steps: Array.from({ length: 15 }, (_, at) => ({ text: at % 3, results: [6_000, 10], isLost: at % 5 === 0 })),
  })),
  isFlaky: true,
}

const WINDOW = 10_000

describe.each(DIALECTS)('%s', (provider) => {
  async function holds({ turns, isFlaky }: Case): Promise<{ compactions: number }> {
    const at = arena({ model: `${provider}/of-unknown-size`, base_url: llm.url })
    const answers: Answered[] = turns.flatMap(({ steps }) => [
      ...steps.map(({ text, results, isLost }, index) => ({
        text: 'y'.repeat(text),
        calls: results.map((size, nth) => ({
          tool: isLost && nth === 0 ? 'gone' : 'fact',
          input: { size, of: `${index}.${nth}` },
        })),
      })),
      { text: 'Done.' },
    ])
    let [summaries, next] = [0, 0]
    llm.script([
      (request) => {
        if (isSummary(request)) {
          summaries += 1
          return isFlaky && summaries === 1
            ? { status: 529 }
            : { text: 'What was found.', usage: { input: 9, output: 9 } }
        }
        const tokens = Math.ceil(request.text.length / 4)
        if (tokens > WINDOW) return { status: 400, message: TOO_LONG[provider](tokens, WINDOW) }
        next += 1
        return { ...answers[next - 1], usage: { input: tokens, output: 10 } }
      },
    ])
    const ownTools = {
      fact: {
        description: 'a fact',
        input: { type: 'object' },
        run: ({ size, of }: Record<string, unknown>) => `fact ${of} ${'x'.repeat(Number(size))}`,
      },
    }
    const session = await at.create('work', { ownTools, tools: [] })
    const prompts = turns.map(({ prompt }, index) => `prompt ${index}: ${'p'.repeat(prompt)}.`)
    for (const [index, prompt] of prompts.entries()) {
      const before = llm.requests.length
      expect(await session.run(prompt)).toMatchObject({ output: 'Done.' })
      for (const request of llm.requests.slice(before)) {
        expect(problemIn(request)).toBe('')
        if (isSummary(request)) continue
        expect(request.text).toContain(prompts[0])
        expect(request.text, `turn ${index}`).toContain(prompt)
      }
    }
    // No step was asked for again once it was answered.
    expect(next).toBe(answers.length)
    return { compactions: at.linesOf('work', 'compaction').length }
  }

  test('every request is well-formed, whatever a history has, and holds the first prompt and the present one', async () => {
    expect((await holds(LONG)).compactions).toBeGreaterThan(1)
    await fc.assert(
      fc.asyncProperty(cases, async (one) => void (await holds(one))),
      { numRuns: 6, seed: 15 },
    )
  })

  test('an answer that may not be as long is asked for shorter', async () => {
    const at = arena({ model: `${provider}/of-unknown-size`, base_url: llm.url })
    llm.script([{ status: 400, message: OUTPUT[provider] }, { text: 'One.' }, { text: 'Two.' }])
    const session = await at.create('work')
    expect([(await session.run('A')).output, (await session.run('B')).output]).toEqual(['One.', 'Two.'])
    expect(llm.requests.map(outputAsked)).toEqual([32_000, 8_192, 8_192])
    expect(at.linesOf('work', 'retry')).toMatchObject([{ wait_ms: 0, status: 400 }])
  })
})

const OUTPUT: Record<Dialect, string> = {
  anthropic: 'max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for test',
  openai:
    'Invalid max_output_tokens: max_tokens is too large: 32000. This model supports at most 8192 completion tokens, whereas you provided 32000.',
  'openai-compatible': 'Invalid max_tokens value, the valid range of max_tokens is [1, 8192]',
  google:
    'Unable to submit request because it has a maxOutputTokens value of 32000 but the supported range is from 1 (inclusive) to 8193 (exclusive).',
}

function outputAsked({ body }: LlmRequest): unknown {
  const config = body['generationConfig'] as Record<string, unknown> | undefined
  return body['max_tokens'] ?? body['max_output_tokens'] ?? config?.['maxOutputTokens']
}

test.each([
  ['prompt is too long: 212345 tokens > 200000 maximum', 200_000],
  ['input length and `max_tokens` exceed context limit: 188240 + 32000 > 200000, decrease input length', 200_000],
  ["This model's maximum context length is 8192 tokens. However, you requested 9,000 tokens", 8_192],
  ['The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).', 1_048_576],
  ['Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length', 32_768],
  ['the request exceeds the available context size: 4,096 tokens', 4_096],
  ['Input is too long for requested model.', undefined],
])('%s: too long, with a window of %s', (said, window) => {
  expect(judgeError(new Error(said))).toMatchObject({ isTooLong: true, isOutputTooLong: false })
  expect(windowIn(said)).toBe(window)
})

test.each([
  ...Object.values(OUTPUT),
  "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 8192 tokens and your request has 300 input tokens (32000 > 8192 - 300).",
  '`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model',
])('%s: a shorter answer is asked for, within the window', (said) => {
  expect(judgeError(new Error(said))).toMatchObject({ isTooLong: false, isOutputTooLong: true })
  const bounds = new Bounds(200_000)
  expect(bounds.learnOutput(said, bounds.outputFor(32_000, 300))).toBe(true)
  const next = bounds.outputFor(32_000, 300)
  expect(next).toBeLessThanOrEqual(8_192)
  expect(next + 300).toBeLessThanOrEqual(bounds.window)
})

test.each(['Rate limit reached', 'overloaded', 'Invalid API key', 'fetch failed', ''])(
  '%j is about no length',
  (said) => {
    expect(judgeError(new Error(said))).toMatchObject({ isTooLong: false, isOutputTooLong: false })
  },
)

test('a request and its answer together fit the window that is known', () => {
  expect([windowOf('openai', 'gpt-4o'), windowOf('openai', 'gpt-4'), windowOf('openai', 'acme')]).toEqual([
    128_000,
    8_192,
    undefined,
  ])
  const bounds = new Bounds(128_000)
  expect(bounds.outputFor(32_000, 10)).toBe(32_000)
  expect(bounds.outputFor(32_000, 107_000) + 107_000).toBeLessThan(128_000)
})
