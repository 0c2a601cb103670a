/**
 * A scripted LLM server that speaks the wire protocols of four providers as their APIs stream them: the real clients talk to it. Its answers
 * are written in advance, one for each request, with the faults that real servers have.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { plainAnswer } from './llm-plain.ts'

export interface Answered {
  text?: string
  calls?: readonly { tool: string; input: unknown; id?: string }[]
  finish?: 'stop' | 'length' | 'refusal'
  usage?: { input: number; output: number; cached?: number }
  /** cut: the connection breaks after the text. error: an error event comes after it. stall: nothing comes after it. */
  after?: 'cut' | 'error' | 'stall'
  /** Before the first byte. */
  delayMs?: number
}

export interface Refused {
  status: number
  message?: string
  headers?: Record<string, string>
}

/** silent: the request is taken, and nothing is sent. */
export type LlmTurn = Said | ((request: LlmRequest) => Said | Promise<Said>)

type Said = Answered | Refused | 'silent'

export interface LlmRequest {
  dialect: Dialect
  url: string
  headers: Record<string, string>
  body: Record<string, unknown>
  /** The body as it was sent. */
  text: string
}

export const DIALECTS = ['anthropic', 'openai', 'openai-compatible', 'google'] as const

/** The name of the provider that speaks it. */
export type Dialect = (typeof DIALECTS)[number]

export class LlmServer {
  readonly requests: LlmRequest[] = []
  readonly #server: Server
  #turns: readonly LlmTurn[] = []
  #next = 0
  #onRequest: (request: LlmRequest) => void = () => {}

  private constructor(server: Server) {
    this.#server = server
  }

  static async start(turns: readonly LlmTurn[] = []): Promise<LlmServer> {
    const server = createServer()
    const llm = new LlmServer(server)
    llm.script(turns)
    server.on('request', (request, response) => void llm.#answer(request, response))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return llm
  }

  /** The address of the server, without a path. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** From now on these answers, in their order; the last one again and again. */
  script(turns: readonly LlmTurn[]): void {
    this.#turns = turns
    this.#next = 0
    this.requests.length = 0
  }

  /** Called for each request before it is answered. */
  watch(onRequest: (request: LlmRequest) => void): void {
    this.#onRequest = onRequest
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }

  async #answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = ''
    for await (const chunk of incoming) text += String(chunk)
    const dialect = dialectOf(incoming.url ?? '')
    if (dialect === undefined) {
      response.writeHead(404).end(JSON.stringify({ error: { message: `no such path: ${incoming.url}` } }))
      return
    }
    const headers = Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]))
    const request = {
      dialect,
      url: incoming.url ?? '',
      headers,
      body: JSON.parse(text) as Record<string, unknown>,
      text,
    }
    this.requests.push(request)
    this.#onRequest(request)
    const given = this.#turns[Math.min(this.#next, this.#turns.length - 1)] ?? { text: 'ok' }
    this.#next += 1
    const turn = typeof given === 'function' ? await given(request) : given
    if (turn === 'silent') return
    if ('status' in turn) {
      const { status, message = 'refused', headers: more = {} } = turn
      response.writeHead(status, { 'content-type': 'application/json', ...more })
      response.end(JSON.stringify(errorBody(dialect, status, message)))
      return
    }
    if (turn.delayMs !== undefined) await sleep(turn.delayMs)
    if (!isStreamed(request)) {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(plainAnswer(dialect, turn, this.requests.length)))
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of EVENTS[dialect](turn, this.requests.length)) response.write(toText(event))
    if (turn.after === 'stall') return
    if (turn.after === 'cut') {
      // After what was written is on its way.
      setTimeout(() => response.destroy(), 20)
      return
    }
    if (turn.after === 'error') response.write(toText(errorEvent(dialect)))
    else if (dialect === 'openai-compatible') response.write('data: [DONE]\n\n')
    response.end()
  }
}

function dialectOf(url: string): Dialect | undefined {
  const path = url.split('?')[0] ?? ''
  if (path === '/v1/messages') return 'anthropic'
  if (path === '/v1/responses') return 'openai'
  if (path === '/v1/chat/completions') return 'openai-compatible'
  return /^\/v1beta\/models\/[^/]+:(?:streamG|g)enerateContent$/.test(path) ? 'google' : undefined
}

/** Clients may ask for the whole answer at once. */
function isStreamed({ dialect, url, body }: LlmRequest): boolean {
  return dialect === 'google' ? url.includes(':streamGenerateContent') : body['stream'] === true
}

type ServerEvent = Record<string, unknown> & { type?: string }

/** Anthropic and OpenAI name their events. */
function toText(event: ServerEvent): string {
  const name = typeof event.type === 'string' ? `event: ${event.type}\n` : ''
  return `${name}data: ${JSON.stringify(event)}\n\n`
}

function errorBody(dialect: Dialect, status: number, message: string): unknown {
  if (dialect === 'anthropic')
    return { type: 'error', error: { type: status === 529 ? 'overloaded_error' : 'api_error', message } }
  if (dialect === 'google') return { error: { code: status, message, status: 'UNAVAILABLE' } }
  return { error: { message, type: 'server_error', code: null, param: null } }
}

function errorEvent(dialect: Dialect): ServerEvent {
  if (dialect === 'anthropic') return { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
  if (dialect === 'google') return { error: { code: 503, message: 'Overloaded', status: 'UNAVAILABLE' } }
  if (dialect === 'openai')
    return {
      type: 'error',
      sequence_number: 9,
      error: { type: 'server_error', code: 'server_error', message: 'Overloaded', param: null },
    }
  return { error: { message: 'Overloaded', type: 'server_error', code: null, param: null } }
}

/** All events of an answer, or those before it breaks. */
const EVENTS: Record<Dialect, (turn: Answered, number: number) => ServerEvent[]> = {
  anthropic: anthropicEvents,
  openai: openaiEvents,
  'openai-compatible': chatEvents,
  google: googleEvents,
}

function callsOf({ calls = [] }: Answered, number: number) {
  return calls.map(({ tool, input, id }, at) => ({ tool, input, id: id ?? `call_${number}_${at + 1}` }))
}

function anthropicEvents(turn: Answered, number: number): ServerEvent[] {
  const { text = '', finish = 'stop', usage = { input: 10, output: 5 } } = turn
  const calls = callsOf(turn, number)
  const cached = usage.cached ?? 0
  const counts = { input_tokens: usage.input - cached, cache_creation_input_tokens: 0, cache_read_input_tokens: cached }
  const message = {
    id: `msg_${number}`,
    type: 'message',
    role: 'assistant',
    model: 'test',
    content: [],
    stop_reason: null,
    stop_sequence: null,
  }
  const events: ServerEvent[] = [
    { type: 'message_start', message: { ...message, usage: { ...counts, output_tokens: 0 } } },
  ]
  let index = 0
  const block = (content: unknown, delta: unknown) => {
    events.push({ type: 'content_block_start', index, content_block: content })
    events.push({ type: 'content_block_delta', index, delta })
    events.push({ type: 'content_block_stop', index })
    index += 1
  }
  if (text !== '') block({ type: 'text', text: '' }, { type: 'text_delta', text })
  if (turn.after !== undefined) return events
  for (const { id, tool, input } of calls) {
    const partial_json = typeof input === 'string' ? input : JSON.stringify(input)
    block({ type: 'tool_use', id, name: tool, input: {} }, { type: 'input_json_delta', partial_json })
  }
  const stop = { stop: calls.length > 0 ? 'tool_use' : 'end_turn', length: 'max_tokens', refusal: 'refusal' }[finish]
  events.push({
    type: 'message_delta',
    delta: { stop_reason: stop, stop_sequence: null },
    usage: { output_tokens: usage.output },
  })
  events.push({ type: 'message_stop' })
  return events
}

function openaiEvents(turn: Answered, number: number): ServerEvent[] {
  const { text = '', finish = 'stop', usage = { input: 10, output: 5 } } = turn
  const about = {
    id: `resp_${number}`,
    object: 'response',
    created_at: 1_700_000_000,
    model: 'test',
    status: 'in_progress',
    output: [],
  }
  const events: ServerEvent[] = [{ type: 'response.created', sequence_number: 0, response: about }]
  let output_index = 0
  if (text !== '') {
    const item = { type: 'message', id: `item_${number}`, role: 'assistant', status: 'in_progress', content: [] }
    const at = { item_id: item.id, output_index, content_index: 0, sequence_number: 1 }
    events.push({ type: 'response.output_item.added', sequence_number: 1, output_index, item })
    events.push({
      type: 'response.content_part.added',
      ...at,
      part: { type: 'output_text', text: '', annotations: [] },
    })
    events.push({ type: 'response.output_text.delta', ...at, delta: text, logprobs: [] })
    const content = [{ type: 'output_text', text, annotations: [] }]
    if (turn.after === undefined)
      events.push({
        type: 'response.output_item.done',
        sequence_number: 2,
        output_index,
        item: { ...item, status: 'completed', content },
      })
    output_index += 1
  }
  if (turn.after !== undefined) return events
  for (const { id, tool, input } of callsOf(turn, number)) {
    const written = typeof input === 'string' ? input : JSON.stringify(input)
    const item = {
      type: 'function_call',
      id: `fc_${id}`,
      call_id: id,
      name: tool,
      arguments: '',
      status: 'in_progress',
    }
    events.push({ type: 'response.output_item.added', sequence_number: 3, output_index, item })
    events.push({
      type: 'response.function_call_arguments.delta',
      sequence_number: 4,
      item_id: item.id,
      output_index,
      delta: written,
    })
    const done = { ...item, arguments: written, status: 'completed' }
    events.push({ type: 'response.output_item.done', sequence_number: 5, output_index, item: done })
    output_index += 1
  }
  const details = {
    input_tokens_details: { cached_tokens: usage.cached ?? 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  }
  const counts = {
    input_tokens: usage.input,
    output_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    ...details,
  }
  const reason = { stop: undefined, length: 'max_output_tokens', refusal: 'content_filter' }[finish]
  const type = reason === undefined ? 'response.completed' : 'response.incomplete'
  const incomplete_details = reason === undefined ? null : { reason }
  events.push({
    type,
    sequence_number: 6,
    response: {
      ...about,
      status: reason === undefined ? 'completed' : 'incomplete',
      incomplete_details,
      usage: counts,
    },
  })
  return events
}

function chatEvents(turn: Answered, number: number): ServerEvent[] {
  const { text = '', finish = 'stop', usage = { input: 10, output: 5 } } = turn
  const calls = callsOf(turn, number)
  const about = { id: `chat_${number}`, object: 'chat.completion.chunk', created: 1_700_000_000, model: 'test' }
  const chunk = (delta: unknown, finish_reason: string | null = null) => ({
    ...about,
    choices: [{ index: 0, delta, finish_reason }],
  })
  const events: ServerEvent[] = [chunk({ role: 'assistant', content: '' })]
  if (text !== '') events.push(chunk({ content: text }))
  if (turn.after !== undefined) return events
  for (const [index, { id, tool, input }] of calls.entries()) {
    const written = typeof input === 'string' ? input : JSON.stringify(input)
    events.push(chunk({ tool_calls: [{ index, id, type: 'function', function: { name: tool, arguments: written } }] }))
  }
  events.push(
    chunk({}, { stop: calls.length > 0 ? 'tool_calls' : 'stop', length: 'length', refusal: 'content_filter' }[finish]),
  )
  const counts = {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
  }
  events.push({
    ...about,
    choices: [],
    usage: { ...counts, prompt_tokens_details: { cached_tokens: usage.cached ?? 0 } },
  })
  return events
}

function googleEvents(turn: Answered, number: number): ServerEvent[] {
  const { text = '', finish = 'stop', usage = { input: 10, output: 5 } } = turn
  const chunk = (parts: unknown[], more: object = {}) => ({
    candidates: [{ content: { role: 'model', parts }, index: 0, ...more }],
    modelVersion: 'test',
  })
  const events: ServerEvent[] = text === '' ? [] : [chunk([{ text }])]
  if (turn.after !== undefined) return events
  const parts = callsOf(turn, number).map(({ tool, input }) => ({ functionCall: { name: tool, args: input } }))
  if (parts.length > 0) events.push(chunk(parts))
  const finishReason = { stop: 'STOP', length: 'MAX_TOKENS', refusal: 'SAFETY' }[finish]
  const counts = {
    promptTokenCount: usage.input,
    candidatesTokenCount: usage.output,
    totalTokenCount: usage.input + usage.output,
  }
  const cached = usage.cached === undefined ? {} : { cachedContentTokenCount: usage.cached }
  events.push({ ...chunk([], { finishReason }), usageMetadata: { ...counts, ...cached } })
  return events
}
