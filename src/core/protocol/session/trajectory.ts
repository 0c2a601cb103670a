/** Turns the transcript of an LLM session into a trajectory ({@link file://./atif.ts}). */
import { isObject } from '../../primitives/is-object.ts'
import type { AtifDocument, AtifStep } from './atif.ts'
import type { TranscriptDocument, TranscriptEvent } from './session.ts'

type Data = TranscriptEvent['data']

/** Prompts are steps of the user, answers of the model are steps of the agent, with the results of their calls. */
export function trajectoryOf({ session_id, events }: TranscriptDocument, version: string): AtifDocument {
  const steps: AtifStep[] = []
  const agent: AtifDocument['agent'] = { name: session_id, version }
  const total = { total_prompt_tokens: 0, total_completion_tokens: 0, total_cached_tokens: 0 }
  let cost: number | undefined = 0
  // The step that calls and results belong to, and the calls that it has: a viewer refuses a call twice, and a result without its call.
  let last: AtifStep | undefined
  let called = new Set<string>()
  const add = (timestamp: string, source: AtifStep['source'], message: string): AtifStep => {
    const step: AtifStep = { step_id: steps.length + 1, timestamp, source, message }
    steps.push(step)
    return step
  }
  for (const { type, timestamp, data } of events) {
    if (type === 'session:start') {
      agent.name = textOf(data, 'name') || session_id
      const model = textOf(data, 'model')
      if (model !== '') agent.model_name = model
    } else if (type === 'prompt:submit') add(timestamp, 'user', textOf(data, 'prompt'))
    else if (type === 'context:post_compact') add(timestamp, 'system', 'The history was made shorter.')
    else if (type === 'content_block:end') {
      const step = add(timestamp, 'agent', textOf(data, 'text'))
      last = step
      called = new Set()
      // Also those that never ran: a tool that is not there, a refusal of the guardian.
      for (const call of callsOf(data['calls'])) addCall(step, called, call)
      if (agent.model_name !== undefined) step.model_name = agent.model_name
      const usage = (data['usage'] ?? {}) as Record<string, unknown>
      step.metrics = {
        prompt_tokens: countOf(usage['input_tokens']),
        completion_tokens: countOf(usage['output_tokens']),
        cached_tokens: countOf(usage['cache_read_tokens']),
      }
      const price = data['cost_usd']
      if (typeof price === 'number' && price >= 0) {
        step.metrics.cost_usd = price
        if (cost !== undefined) cost += price
      } else cost = undefined
      total.total_prompt_tokens += step.metrics.prompt_tokens
      total.total_completion_tokens += step.metrics.completion_tokens
      total.total_cached_tokens += step.metrics.cached_tokens
    } else if (type === 'tool:pre' && last !== undefined) {
      addCall(last, called, { id: data['call_id'], tool: data['tool'], input: data['input'] })
    } else if ((type === 'tool:post' || type === 'tool:error') && last !== undefined) {
      const id = textOf(data, 'call_id')
      if (!called.has(id)) continue
      last.observation ??= { results: [] }
      last.observation.results.push({ source_call_id: id, content: textOf(data, 'output') })
    }
  }
  const final = { ...total, ...(cost === undefined ? {} : { total_cost_usd: cost }), total_steps: steps.length }
  return { schema_version: 'ATIF-v1.4', session_id, agent, steps, final_metrics: final }
}

/** A call that was cut, and made again after a resume, stands twice in the transcript. */
function addCall(step: AtifStep, called: Set<string>, call: Data): void {
  const id = textOf(call, 'id')
  if (called.has(id)) return
  called.add(id)
  step.tool_calls ??= []
  step.tool_calls.push({
    tool_call_id: id,
    function_name: textOf(call, 'tool'),
    arguments: argumentsOf(call['input']),
  })
}

function callsOf(value: unknown): Data[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

function textOf(data: Data, name: string): string {
  const value = data[name]
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}

function countOf(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0
}

function argumentsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}
