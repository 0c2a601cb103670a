/**
 * The reducer from the lines of a transcript to what the model is sent next. A live session and a resumed one use it alike: {@link
 * file://./transcript.ts} applies each line after it is written, or read. Pure.
 */
import type { ModelMessage, ToolResultPart, UserContent } from 'ai'
import type { InstanceError } from '../../core/protocol/instance.ts'
import { addCost, addUsage, NO_USAGE, type SessionUsage } from '../../core/protocol/session/session.ts'
import { IMAGE_MARK, type KeptImage } from './images.ts'
import type { Line, ToolCall } from './lines.ts'

export interface Turn {
  /** From 1; a turn that is dropped keeps its number. */
  number: number
  prompt: string
  images: readonly KeptImage[]
  startedAt: string
  steps: number
  usage: SessionUsage
  cost: number | null
  output: string | undefined
  failure: InstanceError | undefined
  durationMs: number
}

/** The last step, while nothing was said after it. */
export interface LastStep {
  text: string
  finish: string
}

export interface Result {
  output: string
  isError: boolean
  image?: KeptImage
}

export class History {
  /** What the model is sent. */
  messages: ModelMessage[] = []
  readonly turns: Turn[] = []
  /** The calls of the last step, until each has its result. */
  calls: readonly ToolCall[] = []
  readonly results = new Map<string, Result>()
  /** Calls that have begun. */
  readonly begun = new Set<string>()
  /** Of all turns; dropped ones too, because they were paid. */
  usage: SessionUsage = NO_USAGE
  cost: number | null = 0
  /** What agents used. */
  usageOfAgents: SessionUsage = NO_USAGE
  costOfAgents: number | null = 0
  /** Model calls of all turns that are not dropped: the place in a script. */
  steps = 0
  /** Input and output tokens of the last step: how much of the model's window is used. */
  contextTokens = 0
  /** How many messages they count; what came since is not in them. */
  contextMessages = 0
  last: LastStep | undefined
  /** The highest number of a turn. */
  lastTurn = 0
  /** Up to this number, what `steer` said was given; in turns that were dropped too. */
  steered = 0
  readonly #delegated = new Set<string>()
  #marks: { messages: number; steps: number }[] = []

  apply(line: Line): void {
    const turn = this.turns.at(-1)
    if (GOES_ON.includes(line.type)) this.reopen()
    switch (line.type) {
      case 'prompt':
        this.#marks.push({ messages: this.messages.length, steps: this.steps })
        this.turns.push({
          ...NEW_TURN,
          number: line.turn,
          prompt: line.text,
          images: line.images ?? [],
          startedAt: line.at,
        })
        this.lastTurn = line.turn
        this.#say({ role: 'user', content: promptWith(line.text, line.images ?? []) })
        return
      case 'steer':
        this.steered = Math.max(this.steered, line.number ?? 0)
        this.#say({ role: 'user', content: line.text })
        return
      case 'step':
        this.#pay(line.usage, line.cost_usd)
        this.steps += 1
        if (turn !== undefined) turn.steps += 1
        this.contextTokens = line.usage.input_tokens + line.usage.output_tokens
        // An answer without content is refused by providers when it is sent back.
        if (line.message.content.length > 0) this.messages.push(line.message)
        this.contextMessages = this.messages.length
        this.last = { text: line.text, finish: line.finish }
        this.calls = line.calls
        this.results.clear()
        this.begun.clear()
        return
      case 'tool_call':
        this.begun.add(line.call)
        return
      case 'tool_result':
        this.results.set(line.call, {
          output: line.output,
          isError: line.is_error,
          ...(line.image === undefined ? {} : { image: line.image }),
        })
        this.#closeStep()
        return
      case 'agent':
        // A task that a crash cut is told twice.
        if (this.#delegated.has(line.call)) return
        this.#delegated.add(line.call)
        this.usageOfAgents = addUsage(this.usageOfAgents, line.usage)
        this.costOfAgents = addCost(this.costOfAgents, line.cost_usd)
        return
      case 'compaction':
        this.#pay(line.usage, line.cost_usd)
        this.messages = [...line.messages]
        this.#forgetContext()
        this.last = undefined
        // What was before can't be cut off any more: a turn that diverges begins here.
        this.#marks = this.#marks.map(({ steps }) => ({ messages: 0, steps }))
        return
      case 'answer':
        if (turn !== undefined)
          Object.assign(turn, { output: line.output, failure: undefined, durationMs: line.duration_ms })
        return
      case 'failure':
        if (turn !== undefined) Object.assign(turn, { failure: line.error, durationMs: line.duration_ms })
        return
      case 'diverged':
        this.#drop(line.turn)
        return
    }
  }

  /** The last turn has failed before, and is worked on again. */
  reopen(): void {
    const turn = this.turns.at(-1)
    if (turn !== undefined) turn.failure = undefined
  }

  /** The calls of the last step that have no result yet. */
  get open(): ToolCall[] {
    return this.calls.filter(({ id }) => !this.results.has(id))
  }

  #pay(usage: SessionUsage, cost: number | null): void {
    this.usage = addUsage(this.usage, usage)
    this.cost = addCost(this.cost, cost)
    const turn = this.turns.at(-1)
    if (turn === undefined) return
    turn.usage = addUsage(turn.usage, usage)
    turn.cost = addCost(turn.cost, cost)
  }

  /** With its last result, a step is sent on as one message: results follow their calls, in their order. */
  #closeStep(): void {
    if (this.calls.length === 0 || this.open.length > 0) return
    const content = this.calls.map(({ id, tool }): ToolResultPart => {
      const { output = '', isError = true, image } = this.results.get(id) ?? {}
      const about = { type: 'tool-result', toolCallId: id, toolName: tool } as const
      if (image !== undefined) return { ...about, output: withImage(output, image) }
      return { ...about, output: { type: isError ? 'error-text' : 'text', value: output } }
    })
    this.#say({ role: 'tool', content })
    this.calls = []
  }

  #say(message: ModelMessage): void {
    this.messages.push(message)
    this.last = undefined
  }

  #drop(turn: number): void {
    const at = this.turns.findIndex(({ number }) => number === turn)
    const mark = this.#marks[at]
    if (mark === undefined) return
    this.turns.length = at
    this.#marks.length = at
    this.last = undefined
    this.messages.length = Math.min(this.messages.length, mark.messages)
    this.steps = mark.steps
    this.calls = []
    this.#forgetContext()
  }

  #forgetContext(): void {
    this.contextTokens = 0
    this.contextMessages = 0
  }
}

/** Its bytes are put in when it is sent. */
function withImage(text: string, { file, media_type: mediaType }: KeptImage): ToolResultPart['output'] {
  const data = { type: 'data', data: `${IMAGE_MARK}${file}` } as const
  return {
    type: 'content',
    value: [
      { type: 'text', text },
      { type: 'file', mediaType, data },
    ],
  }
}

/** The text is its first part. */
function promptWith(text: string, images: readonly KeptImage[]): UserContent {
  if (images.length === 0) return text
  const parts = images.flatMap(({ file, media_type: mediaType, name }) => [
    ...(name === undefined ? [] : [{ type: 'text', text: `[${name}]` } as const]),
    { type: 'file', mediaType, data: { type: 'data', data: `${IMAGE_MARK}${file}` } } as const,
  ])
  return [{ type: 'text', text }, ...parts]
}

/** Lines that a turn has while it is worked on. */
const GOES_ON: readonly Line['type'][] = ['step', 'compaction', 'steer', 'retry', 'tool_call', 'tool_result']

const NEW_TURN = { steps: 0, usage: NO_USAGE, cost: 0, output: undefined, failure: undefined, durationMs: 0 }
