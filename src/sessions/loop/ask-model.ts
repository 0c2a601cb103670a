/**
 * One call of a model: one step. Its tools are only described to it; {@link file://./run-calls.ts} runs them, after the answer is in the
 * transcript. What a stream gave before it broke is dropped.
 */
import { type AssistantModelMessage, jsonSchema, type ModelMessage, streamText, type ToolSet, tool } from 'ai'
import { JSON_MAX_DEPTH, SESSION_TOOL_INPUT_MAX_BYTES } from '../../core/limits.ts'
import { isObject } from '../../core/primitives/is-object.ts'
import { isWithinDepth } from '../../core/primitives/json-depth.ts'
import type { SessionUsage } from '../../core/protocol/session/session.ts'
import { TOO_DEEP } from '../provider/bounded-calls.ts'
import type { Model } from '../provider/model.ts'
import type { Tool } from '../tools/tool.ts'
import type { ToolCall } from '../transcript/lines.ts'

export interface Question {
  model: Model
  instructions: string
  messages: readonly ModelMessage[]
  tools: ReadonlyMap<string, Tool>
  maxOutputTokens: number
  firstChunkMs: number
  chunkMs: number
  signal: AbortSignal
}

export interface Answer {
  message: AssistantModelMessage
  calls: ToolCall[]
  text: string
  finish: string
  usage: SessionUsage
}

/** Throws what the provider or the connection gave, and the signal's reason. */
export async function askModel(question: Question): Promise<Answer> {
  const { model, instructions, messages, tools, maxOutputTokens, firstChunkMs, chunkMs, signal } = question
  ;(globalThis as { AI_SDK_LOG_WARNINGS?: boolean }).AI_SDK_LOG_WARNINGS = false
  const described = [...tools.values()].map(
    ({ name, description, input }) => [name, tool({ description, inputSchema: jsonSchema(input as object) })] as const,
  )
  const silence = new Silence(firstChunkMs, chunkMs)
  const result = streamText({
    model: model.language,
    instructions,
    messages: [...messages],
    tools: Object.fromEntries(described) as ToolSet,
    providerOptions: model.options,
    ...(model.reasoning === undefined ? {} : { reasoning: model.reasoning }),
    maxRetries: 0,
    maxOutputTokens,
    abortSignal: AbortSignal.any([signal, silence.signal]),
    onError: () => {},
  })
  const calls: ToolCall[] = []
  try {
    for await (const part of result.stream) {
      if (part.type === 'error') throw part.error
      if (part.type === 'abort') break
      if (CONTENT.test(part.type)) silence.heard()
      if (part.type === 'tool-call') calls.push(callOf(part))
    }
  } catch (error) {
    throw silence.reason ?? error
  } finally {
    silence.close()
  }
  if (silence.reason !== undefined) throw silence.reason
  signal.throwIfAborted()
  const [sent, text, finish, usage] = await Promise.all([
    result.responseMessages,
    result.text,
    result.finishReason,
    result.usage,
  ])
  const content = sent.flatMap((one) => (one.role === 'assistant' ? partsOf(one) : []))
  return {
    message: { role: 'assistant', content },
    calls: finish === 'length' ? calls.map(cut) : calls,
    text,
    finish,
    usage: usageOf(usage),
  }
}

const CONTENT = /-delta$|^tool-/

/**
 * Ends a call whose provider sends nothing. The limits of the `ai` package begin with the head of the answer: a server that takes a request and
 * never answers would hold a session for as long as the connection lives.
 */
class Silence {
  readonly #controller = new AbortController()
  readonly #chunkMs: number
  #timer: NodeJS.Timeout

  constructor(firstChunkMs: number, chunkMs: number) {
    this.#chunkMs = chunkMs
    this.#timer = this.#end(firstChunkMs)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get reason(): Error | undefined {
    return this.signal.aborted ? (this.signal.reason as Error) : undefined
  }

  heard(): void {
    clearTimeout(this.#timer)
    this.#timer = this.#end(this.#chunkMs)
  }

  close(): void {
    clearTimeout(this.#timer)
  }

  #end(afterMs: number): NodeJS.Timeout {
    const say = `the provider sent nothing for ${Math.ceil(afterMs / 1_000)} s`
    return setTimeout(() => this.#controller.abort(new DOMException(say, 'TimeoutError')), afterMs)
  }
}

type Parts = Exclude<AssistantModelMessage['content'], string>

function partsOf({ content }: AssistantModelMessage): Parts {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  // Providers refuse an input that is no object when it is sent back; one that is too large would be paid again with each step.
  const parts = content.map((part) =>
    part.type === 'tool-call' && (!isObject(part.input) || isTooDeep(part.input) || isTooLarge(part.input))
      ? { ...part, input: {} }
      : part,
  )
  return parts.filter((part) => part.type !== 'text' || part.text !== '')
}

function callOf(part: { toolCallId: string; toolName: string; input: unknown; error?: unknown }): ToolCall {
  const call = { id: part.toolCallId, tool: part.toolName, input: part.input }
  if (part.input === TOO_DEEP || isTooDeep(part.input))
    return { ...call, input: {}, fault: `Not run: the input is nested deeper than ${JSON_MAX_DEPTH}.` }
  if (isTooLarge(part.input))
    return { ...call, input: {}, fault: `Not run: the input has more than ${SESSION_TOOL_INPUT_MAX_BYTES} bytes.` }
  if (isObject(part.input)) return call
  const said = part.error instanceof Error ? part.error.message.slice(0, 500) : ''
  return { ...call, input: {}, fault: `The input is no JSON object. ${said}`.trim() }
}

/** Before anything else looks at it: each further look is a call for each level. */
function isTooDeep(input: unknown): boolean {
  return !isWithinDepth(input, JSON_MAX_DEPTH)
}

function isTooLarge(input: unknown): boolean {
  const text = typeof input === 'string' ? input : (JSON.stringify(input) ?? '')
  return text.length > SESSION_TOOL_INPUT_MAX_BYTES || Buffer.byteLength(text) > SESSION_TOOL_INPUT_MAX_BYTES
}

function cut(call: ToolCall): ToolCall {
  return {
    ...call,
    fault:
      'Not run: your message was cut at the limit of its length, so this call may be incomplete. Make it again, smaller.',
  }
}

interface ReportedUsage {
  inputTokens: number | undefined
  outputTokens: number | undefined
  inputTokenDetails?: { cacheReadTokens: number | undefined; cacheWriteTokens: number | undefined }
}

function usageOf({ inputTokens, outputTokens, inputTokenDetails: details }: ReportedUsage): SessionUsage {
  return {
    input_tokens: wholeOf(inputTokens),
    cache_read_tokens: wholeOf(details?.cacheReadTokens),
    cache_write_tokens: wholeOf(details?.cacheWriteTokens),
    output_tokens: wholeOf(outputTokens),
  }
}

/** A provider may report anything. */
function wholeOf(value: number | undefined): number {
  return value === undefined || !Number.isFinite(value) || value < 0 ? 0 : Math.round(value)
}
