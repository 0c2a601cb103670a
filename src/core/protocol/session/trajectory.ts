/**
 * Turns the transcript of an LLM session into a trajectory ({@link file://./atif.ts}), piece by piece: a transcript can be longer than a
 * process should hold.
 */
import { TRAJECTORY_MAX_BYTES, TRAJECTORY_STEP_MAX_CHARS } from '../../limits.ts'
import { isObject } from '../../primitives/is-object.ts'
import type { AtifDocument, AtifStep } from './atif.ts'
import type { TranscriptDocument, TranscriptEvent } from './session.ts'
import { toldImages } from './told-images.ts'

type Data = TranscriptEvent['data']

/** All pieces of a transcript. `read` answers from a place on. */
export async function* piecesOf(
  read: (after: number) => Promise<TranscriptDocument>,
): AsyncGenerator<TranscriptDocument> {
  for (let after = 0; ; ) {
    const piece = await read(after)
    yield piece
    const { truncated, next } = piece.meta
    // A command of the session could write as fast as it is read.
    if (!truncated || next === after || next > TRAJECTORY_MAX_BYTES) return
    after = next
  }
}

/** The lines of one JSON document, a line for each step. Prompts are steps of the user, answers of the model are steps of the agent, with the results of their calls. */
export async function* trajectoryLines(
  pieces: AsyncIterable<TranscriptDocument>,
  version: string,
): AsyncGenerator<string> {
  let trajectory: Trajectory | undefined
  let isFirst = true
  const lineOf = (step: AtifStep) => {
    const line = `${isFirst ? '' : ','}${JSON.stringify(step)}`
    isFirst = false
    return line
  }
  for await (const { session_id: id, events, meta } of pieces) {
    if (trajectory === undefined) {
      const head: Partial<AtifDocument> = { schema_version: 'ATIF-v1.4', session_id: id }
      yield `${JSON.stringify(head).slice(0, -1)},"steps":[`
      trajectory = new Trajectory(id, version)
    }
    for (const event of events) for (const step of trajectory.take(event)) yield lineOf(step)
    trajectory.told(meta)
  }
  if (trajectory === undefined) return
  for (const step of trajectory.end()) yield lineOf(step)
  yield `],${JSON.stringify(trajectory.tail()).slice(1)}`
}

class Trajectory {
  readonly #agent: AtifDocument['agent']
  readonly #total = { prompt_tokens: 0, completion_tokens: 0, cached_tokens: 0 }
  #cost: number | undefined = 0
  #begun = new Date(0).toISOString()
  #steps = 0
  #compactions = 0
  #cutTexts = 0
  #cutSteps = 0
  #isCut = false
  /** The last step of the agent, which results may still come for, and all steps after it. */
  #held: AtifStep[] = []
  #heldChars = 0
  /** The step that calls and results belong to, and the calls that it has: a viewer refuses a call twice, and a result without its call. */
  #last: AtifStep | undefined
  #called = new Set<string>()

  constructor(sessionId: string, version: string) {
    this.#agent = { name: sessionId, version }
  }

  /** Returns the steps that nothing follows to. */
  take({ type, timestamp, data }: TranscriptEvent): AtifStep[] {
    switch (type) {
      case 'session:start': {
        this.#agent.name = textOf(data, 'name') || this.#agent.name
        const model = textOf(data, 'model')
        if (model !== '') this.#agent.model_name = model
        this.#begun = timestamp
        return []
      }
      case 'prompt:submit':
        return this.#add({
          ...{ timestamp, source: 'user', message: [textOf(data, 'prompt'), ...toldImages(data['images'])].join('\n') },
        })
      case 'context:post_compact':
        this.#compactions += 1
        return this.#add({
          ...{ timestamp, source: 'system', message: 'The history was made shorter.' },
          // Metrics are of agents alone.
          extra: { how: textOf(data, 'how'), ...this.#paid(data) },
        })
      case 'content_block:end': {
        const { model_name: model } = this.#agent
        const told = { timestamp, source: 'agent', message: textOf(data, 'text') } as const
        const before = this.#release()
        const own = { ...told, ...(model === undefined ? {} : { model_name: model }), metrics: this.#paid(data) }
        // Also the calls that never ran: a tool that is not there, a refusal of the guardian.
        return [...before, ...this.#add(own), ...callsOf(data['calls']).flatMap((call) => this.#call(call))]
      }
      case 'tool:pre':
        return this.#call({ id: data['call_id'], tool: data['tool'], input: data['input'] })
      case 'tool:post':
      case 'tool:error':
        return this.#result(data)
      default:
        return []
    }
  }

  told({ truncated_fields, truncated }: TranscriptDocument['meta']): void {
    this.#cutTexts += truncated_fields
    this.#isCut = truncated
  }

  end(): AtifStep[] {
    if (this.#steps > 0) return this.#release()
    // A trajectory has one step at least.
    return this.#add({ timestamp: this.#begun, source: 'system', message: 'The session has no prompt yet.' })
  }

  tail(): Pick<AtifDocument, 'agent' | 'final_metrics' | 'notes'> {
    const notes = [
      this.#compactions > 0 && 'Totals include what making the history shorter used; see extra of those steps.',
      this.#cutTexts > 0 && `${this.#cutTexts} long texts are cut.`,
      this.#cutSteps > 0 && `${this.#cutSteps} steps have more calls or results than are told here.`,
      this.#isCut && 'The transcript is longer; this is its beginning.',
    ].filter((one) => one !== false)
    const { prompt_tokens, completion_tokens, cached_tokens } = this.#total
    return {
      agent: this.#agent,
      final_metrics: {
        total_prompt_tokens: prompt_tokens,
        total_completion_tokens: completion_tokens,
        total_cached_tokens: cached_tokens,
        ...(this.#cost === undefined ? {} : { total_cost_usd: this.#cost }),
        total_steps: this.#steps,
      },
      ...(notes.length === 0 ? {} : { notes: notes.join(' ') }),
    }
  }

  #add(step: Omit<AtifStep, 'step_id'>): AtifStep[] {
    this.#steps += 1
    const whole: AtifStep = { step_id: this.#steps, ...step }
    this.#held.push(whole)
    if (step.source === 'agent') this.#last = whole
    return this.#grew(step.message.length)
  }

  #call(asked: Data): AtifStep[] {
    const id = textOf(asked, 'id')
    // A call that was cut, and made again after a resume, stands twice in the transcript.
    if (this.#last === undefined || this.#called.has(id)) return []
    this.#called.add(id)
    const call = {
      tool_call_id: id,
      function_name: textOf(asked, 'tool'),
      arguments: argumentsOf(asked['input']),
    }
    this.#last.tool_calls ??= []
    this.#last.tool_calls.push(call)
    return this.#grew(JSON.stringify(call).length)
  }

  #result(data: Data): AtifStep[] {
    const id = textOf(data, 'call_id')
    if (this.#last === undefined || !this.#called.has(id)) return []
    const content = textOf(data, 'output')
    this.#last.observation ??= { results: [] }
    this.#last.observation.results.push({ source_call_id: id, content })
    return this.#grew(id.length + content.length)
  }

  /** A hostile transcript could have a step without an end. */
  #grew(chars: number): AtifStep[] {
    this.#heldChars += chars
    if (this.#last !== undefined && this.#heldChars <= TRAJECTORY_STEP_MAX_CHARS) return []
    if (this.#last !== undefined) this.#cutSteps += 1
    return this.#release()
  }

  #release(): AtifStep[] {
    const steps = this.#held
    this.#held = []
    this.#heldChars = 0
    this.#last = undefined
    this.#called = new Set()
    return steps
  }

  /** What a call of the model used, added to the totals. */
  #paid(data: Data): NonNullable<AtifStep['metrics']> {
    const usage = (data['usage'] ?? {}) as Record<string, unknown>
    const used = {
      prompt_tokens: countOf(usage['input_tokens']),
      completion_tokens: countOf(usage['output_tokens']),
      cached_tokens: countOf(usage['cache_read_tokens']),
    }
    this.#total.prompt_tokens += used.prompt_tokens
    this.#total.completion_tokens += used.completion_tokens
    this.#total.cached_tokens += used.cached_tokens
    const price = data['cost_usd']
    if (typeof price !== 'number' || price < 0) {
      this.#cost = undefined
      return used
    }
    if (this.#cost !== undefined) this.#cost += price
    return { ...used, cost_usd: price }
  }
}

function textOf(data: Data, name: string): string {
  const value = data[name]
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}

function countOf(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0
}

function callsOf(value: unknown): Data[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

function argumentsOf(value: unknown): Record<string, unknown> {
  return isObject(value) ? { ...value } : {}
}
