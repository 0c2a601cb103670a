/**
 * What crosses the process border of an LLM session: the data of its events, the lines of its transcript and the answers about them
 * (decisions/0033; R56).
 */
import { BUDGET_TOKENS_MAX, BUDGET_USD_MAX, BUDGET_USD_MIN } from '../../limits.ts'
import {
  anyObject,
  count,
  flag,
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

/** As `InstanceError`, of a turn. */
const sessionError = object({ code: text(), detail: text() })

export const SESSIONS_DIR = 'sessions'
export const TRANSCRIPT_FILE = 'transcript.jsonl'
export const OUTPUTS_DIR = 'outputs'

/** A name of a directory that is safe in a URL and on a terminal. */
export const SESSION_ID_PATTERN = '^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$'

const SESSION_ID = new RegExp(SESSION_ID_PATTERN)

export function isSessionId(value: unknown): value is string {
  return typeof value === 'string' && SESSION_ID.test(value)
}

export function transcriptFile(sessionId: string): string {
  return `${SESSIONS_DIR}/${sessionId}/${TRANSCRIPT_FILE}`
}

/** live: a model answered. scripted: answers written in advance. replayed: answers that a model gave in an earlier run. Tools run in all. */
export const SESSION_KINDS = ['live', 'scripted', 'replayed'] as const

export type SessionKind = (typeof SESSION_KINDS)[number]

/** Of a model `provider/model`: it answers from a file. */
export function needsNoKey(model: string): boolean {
  return /^(?:scripted|recorded)\//.test(model)
}

export type SessionUsage = Static<typeof sessionUsage>

/** `input_tokens` includes those that were read from and written to the cache of the provider. */
export const sessionUsage = object({
  input_tokens: count(),
  cache_read_tokens: count(),
  cache_write_tokens: count(),
  output_tokens: count(),
})

/** What the sessions of an instance used, as their events tell it: a turn counts when it ends. */
export type SessionSpending = Static<typeof sessionSpending>

export const sessionSpending = object({
  usage: sessionUsage,
  /** An estimate in US dollars; null where a part of it is not known. */
  cost_usd: nullable(number({ minimum: 0 })),
  /** Each kind that a session had. */
  kinds: listOf(oneOf(SESSION_KINDS)),
})

/** The most that the sessions of an instance may cost, in US dollars. */
export const budgetUsd = (description: string) =>
  number({ minimum: BUDGET_USD_MIN, maximum: BUDGET_USD_MAX, description })

/** The most tokens that they may use, input and output together. */
export const budgetTokens = (description: string) => count({ minimum: 1, maximum: BUDGET_TOKENS_MAX, description })

/** What counts for a budget of tokens: those of the cache are input too. */
export function tokensOf({ input_tokens, output_tokens }: SessionUsage): number {
  return input_tokens + output_tokens
}

const about = {
  session_id: text({ pattern: SESSION_ID_PATTERN }),
  session_name: text({ maxLength: 200 }),
  /** Which prompt of the session, from 1. */
  turn: count({ minimum: 1 }),
  model: text({ maxLength: 200 }),
  kind: oneOf(SESSION_KINDS),
  /** The session that started it. */
  parent_id: optional(text({ pattern: SESSION_ID_PATTERN })),
}

export type SessionDispatched = Static<typeof sessionDispatched>

export const sessionDispatched = object(about)

export type SessionCompleted = Static<typeof sessionCompleted>

export const sessionCompleted = object({
  ...about,
  success: flag(),
  duration_seconds: number({ minimum: 0 }),
  steps: count(),
  usage: sessionUsage,
  /** An estimate; null where the price of the model is not known. */
  cost_usd: nullable(number({ minimum: 0 })),
  error: optional(sessionError),
})

export const SESSION_STATUSES = ['running', 'completed', 'failed', 'ended'] as const

export type SessionSummary = Static<typeof sessionSummary>

/** A session as the events tell it. */
export const sessionSummary = named(
  'Session',
  object({
    id: text(),
    name: text(),
    status: oneOf(SESSION_STATUSES, { description: 'Of its last turn; ended: the instance ended before it' }),
    model: text(),
    kind: oneOf(SESSION_KINDS),
    parent_id: nullable(text()),
    turns: count({ description: 'How many prompts it worked on' }),
    steps: count(),
    usage: sessionUsage,
    cost_usd: nullable(number()),
    started_at: time(),
    ended_at: nullable(time()),
    error: nullable(sessionError),
  }),
  'An LLM session of an instance',
)

export type TranscriptEvent = Static<typeof transcriptEvent>

export const TRANSCRIPT_EVENTS = [
  'session:start',
  'prompt:submit',
  'content_block:end',
  'tool:pre',
  'tool:post',
  'tool:error',
  'prompt:complete',
  'context:post_compact',
  'provider:retry',
  'guardian:action',
] as const

const transcriptEvent = object({
  type: oneOf(TRANSCRIPT_EVENTS),
  timestamp: time(),
  data: anyObject<unknown>(),
})

export type TranscriptDocument = Static<typeof transcriptDocument>

export const transcriptDocument = named(
  'Transcript',
  object({
    session_id: text(),
    events: listOf(transcriptEvent),
    meta: object({
      total_lines: count(),
      extracted_events: count(),
      truncated_fields: count(),
      /** There is more: an answer holds at most 16 MiB of a transcript. */
      truncated: flag(),
      /** Ask for what follows with `after`: a place between two lines of the transcript, in bytes. */
      next: count(),
    }),
  }),
  'What a session did',
)

/** One line of `transcript.jsonl`; its further fields depend on the type. */
export const transcriptLine = object({ seq: count({ minimum: 1 }), at: time(), type: text() })

export const NO_USAGE: SessionUsage = {
  input_tokens: 0,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  output_tokens: 0,
}

export function addUsage(a: SessionUsage, b: SessionUsage): SessionUsage {
  return {
    input_tokens: a.input_tokens + b.input_tokens,
    cache_read_tokens: a.cache_read_tokens + b.cache_read_tokens,
    cache_write_tokens: a.cache_write_tokens + b.cache_write_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
  }
}

/** Unknown and known make unknown: a sum that leaves a part out would look like the whole. */
export function addCost(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : a + b
}

/** Which commit a bundle is: an instance keeps it when it is resumed. */
export const bundleCommit = object({ url: text(), ref: nullable(text()), commit: text() })
