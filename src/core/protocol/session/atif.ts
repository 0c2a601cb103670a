/** A transcript in the Agent Trajectory Interchange Format, version 1.4: for viewers and for training. */
import {
  anyObject,
  constant,
  count,
  listOf,
  named,
  nullable,
  number,
  object,
  oneOf,
  optional,
  type Static,
  text,
  time,
} from '../../schema/schema.ts'

const metrics = object({
  prompt_tokens: count(),
  completion_tokens: count(),
  cached_tokens: count(),
  cost_usd: optional(number({ minimum: 0 })),
})

const step = object({
  /** From 1, without a gap. */
  step_id: count({ minimum: 1 }),
  timestamp: time(),
  source: oneOf(['system', 'user', 'agent']),
  message: text(),
  model_name: optional(text()),
  tool_calls: optional(listOf(object({ tool_call_id: text(), function_name: text(), arguments: anyObject() }))),
  observation: optional(
    object({ results: listOf(object({ source_call_id: optional(text()), content: nullable(text()) })) }),
  ),
  metrics: optional(metrics),
  /** What making the history shorter used. */
  extra: optional(anyObject()),
})

export type AtifStep = Static<typeof step>

export type AtifDocument = Static<typeof atifDocument>

export const atifDocument = named(
  'Trajectory',
  object({
    schema_version: constant('ATIF-v1.4'),
    session_id: text(),
    agent: object({ name: text(), version: text(), model_name: optional(text()) }),
    steps: listOf(step),
    final_metrics: object({
      total_prompt_tokens: count(),
      total_completion_tokens: count(),
      total_cached_tokens: count(),
      total_cost_usd: optional(number({ minimum: 0 })),
      total_steps: count(),
    }),
    /** What is cut, and what the totals include. */
    notes: optional(text()),
  }),
  'A transcript as a trajectory (ATIF 1.4)',
)
