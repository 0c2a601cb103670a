/** The answers of {@link file://./llm-server.ts} to clients that ask for the whole of one at once. */
import type { Answered, Dialect } from './llm-server.ts'

export function plainAnswer(dialect: Dialect, turn: Answered, number: number): unknown {
  const { text = '', calls = [], finish = 'stop', usage = { input: 10, output: 5 } } = turn
  const named = calls.map(({ tool, input, id }, at) => ({ tool, input, id: id ?? `call_${number}_${at + 1}` }))
  return PLAIN[dialect]({ text, calls: named, finish, usage: { cached: 0, ...usage }, number })
}

interface Whole {
  text: string
  calls: { tool: string; input: unknown; id: string }[]
  finish: 'stop' | 'length' | 'refusal'
  usage: { input: number; output: number; cached: number }
  number: number
}

const PLAIN: Record<Dialect, (whole: Whole) => unknown> = {
  anthropic: ({ text, calls, finish, usage, number }) => ({
    ...{ id: `msg_${number}`, type: 'message', role: 'assistant', model: 'test', stop_sequence: null },
    content: [
      ...(text === '' ? [] : [{ type: 'text', text }]),
      ...calls.map(({ tool, input, id }) => ({ type: 'tool_use', id, name: tool, input })),
    ],
    stop_reason: { stop: calls.length > 0 ? 'tool_use' : 'end_turn', length: 'max_tokens', refusal: 'refusal' }[finish],
    usage: {
      input_tokens: usage.input - usage.cached,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: usage.cached,
      output_tokens: usage.output,
    },
  }),
  openai: ({ text, calls, finish, usage, number }) => {
    const reason = { stop: undefined, length: 'max_output_tokens', refusal: 'content_filter' }[finish]
    const content = [{ type: 'output_text', text, annotations: [] }]
    return {
      ...{ id: `resp_${number}`, object: 'response', created_at: 1_700_000_000, model: 'test' },
      status: reason === undefined ? 'completed' : 'incomplete',
      incomplete_details: reason === undefined ? null : { reason },
      output: [
        ...(text === ''
          ? []
          : [{ type: 'message', id: `item_${number}`, role: 'assistant', status: 'completed', content }]),
        ...calls.map(({ tool, input, id }) => ({
          ...{ type: 'function_call', id: `fc_${id}`, call_id: id, name: tool, status: 'completed' },
          arguments: JSON.stringify(input),
        })),
      ],
      usage: {
        input_tokens: usage.input,
        output_tokens: usage.output,
        total_tokens: usage.input + usage.output,
        input_tokens_details: { cached_tokens: usage.cached },
        output_tokens_details: { reasoning_tokens: 0 },
      },
    }
  },
  'openai-compatible': ({ text, calls, finish, usage, number }) => {
    const tool_calls = calls.map(({ tool, input, id }) => ({
      ...{ id, type: 'function' },
      function: { name: tool, arguments: JSON.stringify(input) },
    }))
    const message = {
      role: 'assistant',
      content: text === '' ? null : text,
      ...(calls.length > 0 ? { tool_calls } : {}),
    }
    const finish_reason = {
      stop: calls.length > 0 ? 'tool_calls' : 'stop',
      length: 'length',
      refusal: 'content_filter',
    }
    return {
      ...{ id: `chat_${number}`, object: 'chat.completion', created: 1_700_000_000, model: 'test' },
      choices: [{ index: 0, message, finish_reason: finish_reason[finish] }],
      usage: {
        prompt_tokens: usage.input,
        completion_tokens: usage.output,
        total_tokens: usage.input + usage.output,
        prompt_tokens_details: { cached_tokens: usage.cached },
      },
    }
  },
  google: ({ text, calls, finish, usage }) => ({
    candidates: [
      {
        content: {
          role: 'model',
          parts: [
            ...(text === '' ? [] : [{ text }]),
            ...calls.map(({ tool, input }) => ({ functionCall: { name: tool, args: input } })),
          ],
        },
        index: 0,
        finishReason: { stop: 'STOP', length: 'MAX_TOKENS', refusal: 'SAFETY' }[finish],
      },
    ],
    modelVersion: 'test',
    usageMetadata: {
      promptTokenCount: usage.input,
      candidatesTokenCount: usage.output,
      totalTokenCount: usage.input + usage.output,
      cachedContentTokenCount: usage.cached,
    },
  }),
}
