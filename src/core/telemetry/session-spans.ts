/**
 * Spans of LLM sessions by the semantic conventions of OpenTelemetry for generative AI: `invoke_agent` for a turn, `chat` for a call of the model, `execute_tool` for a
 * call of a tool. They are made from the transcript of a turn, with ids that follow from it: made again after a kill, each is the same span. Pure.
 */
import { hash } from 'node:crypto'
import type { Attributes } from '@opentelemetry/api'
import { TRACE_SPANS_OF_TURN_MAX } from '../limits.ts'
import { isObject } from '../primitives/is-object.ts'
import type { SessionCompleted, TranscriptEvent } from '../protocol/session/session.ts'
import type { FinishedSpan } from './tracing.ts'

export interface Turn {
  instance: string
  resolver: string
  completed: SessionCompleted
  /** Prompts, answers, inputs and outputs are attributes too (OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT). */
  withContents: boolean
  /** When the turn was told, for one without a line of its own. */
  nowMs: number
}

/** A tool that asks another session; the id of that session ends with a part of the hash of the call. */
const AGENT_TOOL = 'agent'
const PART_OF_CALL = 8

export function traceIdOf(instance: string): string {
  return hash('sha256', `instance ${instance}`).slice(0, 32)
}

export function rootIdOf(instance: string): string {
  return spanId(instance, 'run')
}

function spanId(instance: string, ...parts: readonly (string | number)[]): string {
  return hash('sha256', JSON.stringify([instance, ...parts])).slice(0, 16)
}

/** All spans of a finished turn; `events` are those of its session, in order, at least from the beginning of the turn on. */
export function* spansOfTurn(turn: Turn, events: Iterable<TranscriptEvent>): Generator<FinishedSpan> {
  const reader = new TurnReader(turn)
  let count = 0
  for (const event of events) {
    for (const span of reader.take(event)) {
      count += 1
      if (count <= TRACE_SPANS_OF_TURN_MAX) yield span
    }
  }
  yield reader.agent(Math.max(0, count - TRACE_SPANS_OF_TURN_MAX))
}

class TurnReader {
  readonly #turn: Turn
  readonly #own: string
  readonly #shared: Attributes
  readonly #calls = new Map<string, { startMs: number; input: unknown }>()
  #startMs: number | undefined
  #lastMs: number | undefined
  #prompt = ''
  #output = ''

  constructor(turn: Turn) {
    this.#turn = turn
    const { session_id: session, turn: number, model } = turn.completed
    this.#own = spanId(turn.instance, session, 'turn', number)
    this.#shared = { ...modelOf(model), 'gen_ai.conversation.id': session, 'resolve.instance.id': turn.instance }
  }

  *take({ type, timestamp, data }: TranscriptEvent): Generator<FinishedSpan> {
    if (data['turn'] !== this.#turn.completed.turn) return
    const atMs = Date.parse(timestamp)
    this.#startMs ??= atMs
    const beforeMs = this.#lastMs ?? this.#startMs
    switch (type) {
      case 'prompt:submit':
        this.#prompt ||= String(data['prompt'] ?? '')
        break
      case 'content_block:end':
        yield this.#chat(data, beforeMs, atMs)
        break
      case 'tool:pre':
        this.#calls.set(String(data['call_id']), { startMs: atMs, input: data['input'] })
        break
      case 'tool:post':
      case 'tool:error':
        yield this.#tool(data, type === 'tool:error', atMs)
        break
      case 'prompt:complete':
        this.#output = String(data['output'] ?? '')
        break
      // What the provider was asked in vain, and what a person waited for it, belongs to the call.
      case 'provider:retry':
        return
      default:
        break
    }
    this.#lastMs = Math.max(beforeMs, atMs)
  }

  /** The turn itself; its parent is the call of a tool, for a session that an agent started. */
  agent(leftOut: number): FinishedSpan {
    const { instance, resolver, completed, withContents, nowMs } = this.#turn
    const { session_id: session, session_name: name, turn, parent_id: parent, kind, usage, cost_usd, error } = completed
    const endMs = this.#lastMs ?? nowMs
    const startMs = this.#startMs ?? endMs - completed.duration_seconds * 1_000
    return {
      traceId: traceIdOf(instance),
      spanId: this.#own,
      parentId:
        parent === undefined ? rootIdOf(instance) : spanId(instance, parent, 'agent', session.slice(-PART_OF_CALL)),
      name: `invoke_agent ${name}`,
      kind: 'internal',
      startMs,
      endMs,
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': name,
        ...this.#shared,
        ...usageOf(usage),
        'resolve.resolver.name': resolver,
        'resolve.session.turn': turn,
        'resolve.session.kind': kind,
        ...(cost_usd === null ? {} : { 'resolve.cost_usd': cost_usd }),
        ...(leftOut === 0 ? {} : { 'resolve.spans_left_out': leftOut }),
        ...(error === undefined ? {} : { 'error.type': error.code }),
        ...(withContents ? { 'gen_ai.input.messages': message('user', this.#prompt) } : {}),
        ...(withContents && this.#output !== ''
          ? { 'gen_ai.output.messages': message('assistant', this.#output) }
          : {}),
      },
      ...(error === undefined ? {} : { failure: error.detail }),
    }
  }

  #chat(data: TranscriptEvent['data'], startMs: number, endMs: number): FinishedSpan {
    const { instance, completed, withContents } = this.#turn
    const { step, finish, text, calls } = data
    return {
      traceId: traceIdOf(instance),
      spanId: spanId(instance, completed.session_id, 'step', completed.turn, Number(step)),
      parentId: this.#own,
      name: `chat ${modelOf(completed.model)['gen_ai.request.model']}`,
      kind: 'client',
      startMs,
      endMs,
      attributes: {
        'gen_ai.operation.name': 'chat',
        ...this.#shared,
        ...(typeof finish === 'string' ? { 'gen_ai.response.finish_reasons': [finish] } : {}),
        ...(isObject(data['usage']) ? usageOf(data['usage']) : {}),
        ...(typeof data['cost_usd'] === 'number' ? { 'resolve.cost_usd': data['cost_usd'] } : {}),
        ...(withContents ? { 'gen_ai.output.messages': message('assistant', String(text ?? ''), calls) } : {}),
      },
    }
  }

  #tool(data: TranscriptEvent['data'], isError: boolean, endMs: number): FinishedSpan {
    const { instance, completed, withContents } = this.#turn
    const call = String(data['call_id'])
    const tool = String(data['tool'])
    const { startMs, input } = this.#calls.get(call) ?? {
      startMs: endMs - (Number(data['duration_ms']) || 0),
      input: null,
    }
    this.#calls.delete(call)
    const id =
      tool === AGENT_TOOL
        ? spanId(instance, completed.session_id, 'agent', hash('sha256', call).slice(0, PART_OF_CALL))
        : spanId(instance, completed.session_id, 'call', completed.turn, call)
    return {
      traceId: traceIdOf(instance),
      spanId: id,
      parentId: this.#own,
      name: `execute_tool ${tool}`,
      kind: 'internal',
      startMs,
      endMs,
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': tool,
        'gen_ai.tool.call.id': call,
        'gen_ai.tool.type': 'function',
        'gen_ai.conversation.id': completed.session_id,
        'resolve.instance.id': instance,
        ...(isError ? { 'error.type': 'tool_error' } : {}),
        ...(withContents
          ? {
              'gen_ai.tool.call.arguments': JSON.stringify(input) ?? '',
              'gen_ai.tool.call.result': String(data['output'] ?? ''),
            }
          : {}),
      },
      ...(isError ? { failure: 'the tool told an error' } : {}),
    }
  }
}

/** How the conventions call the providers that they know. */
const PROVIDERS: Readonly<Record<string, string>> = { google: 'gcp.gemini', 'openai-chat': 'openai' }

function modelOf(model: string): { 'gen_ai.provider.name': string; 'gen_ai.request.model': string } {
  const [, provider = '_OTHER', name = model] = /^([^/]+)\/(.+)$/s.exec(model) ?? []
  return { 'gen_ai.provider.name': PROVIDERS[provider] ?? provider, 'gen_ai.request.model': name }
}

function usageOf(usage: Readonly<Record<string, unknown>>): Attributes {
  const of = (name: string, as: string) => (typeof usage[name] === 'number' ? { [as]: usage[name] } : {})
  return {
    ...of('input_tokens', 'gen_ai.usage.input_tokens'),
    ...of('output_tokens', 'gen_ai.usage.output_tokens'),
    ...of('cache_read_tokens', 'gen_ai.usage.cache_read.input_tokens'),
    ...of('cache_write_tokens', 'gen_ai.usage.cache_creation.input_tokens'),
  }
}

/** A list of one message, as JSON. */
function message(role: 'user' | 'assistant', text: string, calls?: unknown): string {
  const asked = (Array.isArray(calls) ? calls : []).filter(isObject)
  const parts = [
    ...(text === '' ? [] : [{ type: 'text', content: text }]),
    ...asked.map(({ id, tool, input }) => ({ type: 'tool_call', id, name: tool, arguments: input })),
  ]
  return JSON.stringify([{ role, parts }])
}
