/** Whether a request to a model is one that its provider takes: roles, calls and results, as each of four protocols wants them. */
import type { Dialect, LlmRequest } from './llm-server.ts'

type Item = Record<string, unknown>

/** The first problem; an empty text where there is none. */
export function problemIn({ dialect, body }: Pick<LlmRequest, 'dialect' | 'body'>): string {
  return CHECKS[dialect](body)
}

const CHECKS: Record<Dialect, (body: Item) => string> = {
  anthropic: (body) => {
    const messages = listOf(body['messages'])
    for (const [at, { role, content }] of messages.entries()) {
      if (role !== (at % 2 === 0 ? 'user' : 'assistant')) return `message ${at} is of ${role}`
      if (isEmpty(content)) return `message ${at} is empty`
      const calls = partsOf(content, 'tool_use').map(({ id }) => id)
      const results = partsOf(messages[at + 1]?.['content'], 'tool_result').map((one) => one['tool_use_id'])
      if (!areEqual(calls, results)) return `message ${at} calls ${calls}, its results are ${results}`
    }
    return messages.at(-1)?.['role'] === 'user' ? '' : 'the last message is no user message'
  },
  openai: (body) => {
    const open = new Set<unknown>()
    for (const [at, item] of listOf(body['input']).entries()) {
      if (item['type'] === 'function_call') open.add(item['call_id'])
      else if (item['type'] === 'function_call_output') {
        if (!open.delete(item['call_id'])) return `item ${at} is a result without its call`
      } else if (open.size > 0) return `item ${at} comes before the results of ${[...open]}`
      else if (isEmpty(item['content'])) return `item ${at} is empty`
    }
    return open.size === 0 ? '' : `no results of ${[...open]}`
  },
  'openai-compatible': (body) => {
    const open = new Set<unknown>()
    for (const [at, message] of listOf(body['messages']).entries()) {
      const calls = listOf(message['tool_calls'])
      if (message['role'] === 'tool') {
        if (!open.delete(message['tool_call_id'])) return `message ${at} is a result without its call`
        continue
      }
      if (open.size > 0) return `message ${at} comes before the results of ${[...open]}`
      if (calls.length === 0 && isEmpty(message['content'])) return `message ${at} is empty`
      for (const { id } of calls) open.add(id)
    }
    return open.size === 0 ? '' : `no results of ${[...open]}`
  },
  google: (body) => {
    const contents = listOf(body['contents'])
    for (const [at, { role, parts }] of contents.entries()) {
      if (role !== 'user' && role !== 'model') return `content ${at} is of ${role}`
      if (at === 0 && role !== 'user') return 'the first content is not of the user'
      if (listOf(parts).length === 0) return `content ${at} is empty`
      const calls = namesOf(parts, 'functionCall')
      const results = namesOf(contents[at + 1]?.['parts'], 'functionResponse')
      if (!areEqual(calls, results)) return `content ${at} calls ${calls}, its results are ${results}`
    }
    return contents.at(-1)?.['role'] === 'user' ? '' : 'the last content is not of the user'
  },
}

function listOf(value: unknown): Item[] {
  return Array.isArray(value) ? (value as Item[]) : []
}

function partsOf(content: unknown, type: string): Item[] {
  return listOf(content).filter((part) => part['type'] === type)
}

function namesOf(parts: unknown, kind: string): unknown[] {
  return listOf(parts).flatMap((part) => (kind in part ? [(part[kind] as Item)['name']] : []))
}

function isEmpty(content: unknown): boolean {
  return content === undefined || content === null || content === '' || (Array.isArray(content) && content.length === 0)
}

function areEqual(a: readonly unknown[], b: readonly unknown[]): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
