/**
 * The rules of the Agent Trajectory Interchange Format 1.4, as its specification and the validator of Harbor state them: which fields an
 * object has, and what must agree. {@link file://./../host/transcript-pages.test.ts} checks trajectories with it.
 */

type Check = (value: unknown, at: string) => string[]
type Fields = Readonly<Record<string, Check>>

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const that =
  (words: string, holds: (value: unknown) => boolean): Check =>
  (value, at) =>
    holds(value) ? [] : [`${at}: not ${words}`]

const text = that('a text', (value) => typeof value === 'string')
const whole = that('a whole number', Number.isInteger)
const price = that('a number', (value) => typeof value === 'number' && Number.isFinite(value))
const anyObject = that('an object', isObject)
const time = that(
  'a time in ISO 8601',
  (value) => typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)$/.test(value),
)

function listOf(check: Check): Check {
  return (value, at) =>
    Array.isArray(value) ? value.flatMap((one, index) => check(one, `${at}[${index}]`)) : [`${at}: not a list`]
}

/** No further fields: the format has `extra` for them. */
function object(required: Fields, may: Fields = {}): Check {
  return (value, at) => {
    if (!isObject(value)) return [`${at}: not an object`]
    const missing = Object.keys(required).filter((name) => value[name] === undefined)
    const found = Object.entries(value).flatMap(([name, one]) => {
      const check = required[name] ?? may[name]
      return check === undefined ? [`${at}.${name}: not a field`] : check(one, `${at}.${name}`)
    })
    return [...missing.map((name) => `${at}.${name}: missing`), ...found]
  }
}

const metrics = object(
  {},
  {
    ...{ prompt_tokens: whole, completion_tokens: whole, cached_tokens: whole, cost_usd: price },
    ...{
      prompt_token_ids: listOf(whole),
      completion_token_ids: listOf(whole),
      logprobs: listOf(price),
      extra: anyObject,
    },
  },
)

const call = object({ tool_call_id: text, function_name: text, arguments: anyObject })
const reference = object({ session_id: text }, { trajectory_path: text, extra: anyObject })
const result = object({}, { source_call_id: text, content: text, subagent_trajectory_ref: listOf(reference) })

const step = object(
  {
    step_id: whole,
    source: that('a source', (value) => ['system', 'user', 'agent'].includes(value as string)),
    message: text,
  },
  {
    ...{
      timestamp: time,
      model_name: text,
      reasoning_effort: text,
      reasoning_content: text,
      metrics,
      extra: anyObject,
    },
    ...{ tool_calls: listOf(call), observation: object({ results: listOf(result) }) },
  },
)

const trajectory = object(
  {
    schema_version: that('version 1.4', (value) => value === 'ATIF-v1.4'),
    session_id: text,
    agent: object({ name: text, version: text }, { model_name: text, extra: anyObject }),
    steps: listOf(step),
  },
  {
    notes: text,
    extra: anyObject,
    final_metrics: object(
      {},
      {
        ...{ total_prompt_tokens: whole, total_completion_tokens: whole, total_cached_tokens: whole },
        ...{ total_cost_usd: price, total_steps: whole, extra: anyObject },
      },
    ),
  },
)

const OF_AGENTS = ['model_name', 'reasoning_effort', 'reasoning_content', 'tool_calls', 'metrics']

interface Step {
  step_id: number
  source: string
  tool_calls?: { tool_call_id: string }[]
  observation?: { results: { source_call_id?: string }[] }
}

/** What breaks a rule, with its place; empty for a trajectory that viewers take. */
export function atifProblems(document: unknown): string[] {
  const problems = trajectory(document, 'trajectory')
  if (problems.length > 0) return problems
  const { steps, final_metrics: final } = document as { steps: Step[]; final_metrics?: { total_steps?: number } }
  if (steps.length === 0) problems.push('steps: none')
  if (final?.total_steps !== undefined && final.total_steps !== steps.length)
    problems.push('total_steps: another number')
  for (const [index, one] of steps.entries()) {
    const at = `steps[${index}]`
    if (one.step_id !== index + 1) problems.push(`${at}.step_id: not ${index + 1}`)
    if (one.source !== 'agent')
      problems.push(...OF_AGENTS.filter((name) => name in one).map((name) => `${at}.${name}: of agents`))
    const calls = (one.tool_calls ?? []).map(({ tool_call_id: id }) => id)
    if (new Set(calls).size !== calls.length) problems.push(`${at}.tool_calls: one twice`)
    for (const { source_call_id: id } of one.observation?.results ?? [])
      if (id !== undefined && !calls.includes(id)) problems.push(`${at}: a result without its call`)
  }
  return problems
}
