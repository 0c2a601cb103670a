/** The documents of an instance: config, result, requests, messages and the record (spec, Resources; R8, R43). */

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
  type Schema,
  type Static,
  text,
  time,
} from '../schema/schema.ts'
import { form, type Payload, payload } from './form.ts'
import { budgetTokens, budgetUsd, SESSION_KINDS, sessionUsage } from './session/session.ts'
import { STATUSES } from './status.ts'
import type { WorkspaceRepo } from './workspace.ts'

/** A random id; it also names a directory, and is safe to print on a terminal. */
export const INSTANCE_ID_PATTERN = '^[0-9a-f]{12}$'

/** What the LLM sessions of an instance may use together; the bound that is reached first counts. */
export interface BudgetRequest {
  /** In US dollars. */
  budget_usd?: number
  budget_tokens?: number
}

/** Only the bounds that are there. */
export function budgetIn(from: { budget_usd?: number | undefined; budget_tokens?: number | undefined }): BudgetRequest {
  const { budget_usd, budget_tokens } = from
  return {
    ...(budget_usd === undefined ? {} : { budget_usd }),
    ...(budget_tokens === undefined ? {} : { budget_tokens }),
  }
}

/** Written to `config.json`, read by the resolver (spec, InstanceConfig; R43). */
export interface InstanceConfig {
  instance_id: string
  resolver_name: string
  params: Payload
  /** The secret fields of `params`, which belong in no event; an earlier host did not name them. */
  secret_fields?: string[]
  workspace_path: string
  /** The repositories in it; an earlier host did not name them. */
  workspace?: WorkspaceRepo[]
  /** Where tools begin: the clone where there is one repository, else `workspace_path`. Absent in a config of an older platform. */
  working_directory?: string
  /** R43: the path of `/project` for this worker. */
  project_path: string
  /** R43: the path of `.resolve` for this worker, also in RESOLVE_DIR. */
  resolve_path: string
  git_provider: { type: string; base_url: string; token: string }
  /** R55: beside the two of the spec, the secrets that the manifest names. */
  credentials: { llm_provider_api_key: string; git_host_token: string } & Record<string, string>
  /** R55: which model to use, where the operator says it. */
  llm: { model: string; base_url: string }
  /** What its LLM sessions may cost together, in US dollars; absent where there is no budget. */
  budget_usd?: number
  /** What those of earlier workers cost, as they told it. */
  spent_usd?: number
  /** How many tokens its LLM sessions may use together; absent where there is no such budget. */
  budget_tokens?: number
  /** How many those of earlier workers used, as they told it. */
  spent_tokens?: number
  sub_container_token: string
  /** The address of the git server; absent where there is none. */
  platform_url?: string
  capabilities: string[]
  /** The bundles of its sessions, with what they include; absent where there are none. */
  bundles?: BundleEntry[]
}

/** A bundle as the host fetched it (docs/sessions.md, Bundles). */
export interface BundleEntry {
  /** As the manifest or another bundle names it. */
  address: string
  name: string
  /** The directory of its repository, read-only for the worker; null where it is not there. */
  path: string | null
  /** The bundle in it; empty for all of it. */
  subdirectory: string
  commit: string | null
  /** Another bundle named it, not the resolver. */
  included: boolean
  /** Why it is not there; absent where nothing is missing without it. */
  reason?: string
}

export const RESULT_STATUSES = ['completed', 'paused', 'failed', 'cancelled'] as const

export type ResultStatus = (typeof RESULT_STATUSES)[number]

/** What run() returns (spec, ResolverResult); the SDK writes it to `status.json` (R21). */
export interface ResolverResult {
  status: ResultStatus
  output?: string | null
  error?: string | null
  sessions_used?: number
}

/** R28: cancelled means that the instance ended or paused before it was answered. */
export const REQUEST_STATUSES = ['pending', 'answered', 'cancelled'] as const

export type RequestStatus = (typeof REQUEST_STATUSES)[number]

export type InputRequest = Static<typeof inputRequest>

export const inputRequest = named(
  'InputRequest',
  object({
    id: text(),
    prompt: text(),
    schema: form,
    status: oneOf(REQUEST_STATUSES),
  }),
  'A question of a resolver',
)

export type InboxEntry = Static<typeof inboxEntry>

export const inboxEntry = named(
  'InboxEntry',
  object({ instance_id: text(), name: nullable(text()), resolver: text(), asked_at: time(), request: inputRequest }),
  'An open question, and the instance that asks it',
)

export type MessageType = Static<typeof messageType>

export const messageType = named(
  'MessageType',
  object({ name: text(), label: text(), description: text(), schema: form }),
  'A message that the resolver takes now',
)

/** Written to `messages/{N}.json`. */
export interface Message {
  number: number
  message_type: string
  payload: Payload
}

/** Short pairs of key and value that people and scripts give an instance, to find it again. */
export type Labels = Record<string, string>

/** What is changed: a value sets the label, null removes it. */
export type LabelChanges = Record<string, string | null>

export const LABELS_MAX = 32
export const LABEL_KEY_PATTERN = '^[A-Za-z0-9][A-Za-z0-9_./-]{0,62}$'
/** No control characters: labels are printed in tables. */
export const LABEL_VALUE_PATTERN = '^[^\\u0000-\\u001f\\u007f-\\u009f]{0,200}$'

const value = text({ maxLength: 200, pattern: LABEL_VALUE_PATTERN })

const KEYS = { maxProperties: LABELS_MAX, propertyNames: { pattern: LABEL_KEY_PATTERN } }

export const labels: Schema<Labels> = anyObject<string>({ ...KEYS, additionalProperties: value })

export const labelChanges: Schema<LabelChanges> = anyObject<string | null>({
  ...KEYS,
  additionalProperties: nullable(value),
  description: 'null removes a label',
})

/** The labels after the changes. */
export function withLabels(before: Readonly<Labels>, changes: Readonly<LabelChanges>): Labels {
  const after = { ...before, ...changes }
  return Object.fromEntries(Object.entries(after).filter((entry): entry is [string, string] => entry[1] !== null))
}

export type InstanceError = Static<typeof instanceError>

export const instanceError = object({
  code: text(),
  detail: text(),
  place: optional(
    text({ description: 'The file and line of an exception in the code of the resolver: resolver.ts:12' }),
  ),
})

export const instanceId = () => text({ pattern: INSTANCE_ID_PATTERN })

/** Which bound an instance waits for: the one of the home's hosts, or `max_running` of its resolver. */
export const QUEUE_BOUNDS = ['home', 'resolver'] as const

/** The place of an instance that waits for a worker (R70), as it was told last. */
export type QueuePlace = Static<typeof queuePlace>

export const queuePlace = object({
  position: count({ description: 'The place in the queue: 1 is next' }),
  bound: oneOf(QUEUE_BOUNDS),
  limit: count({ description: 'How many may run at the same time under that bound' }),
  since: time(),
})

/** Where an instance of a schedule came from (R72). */
export type ScheduleOrigin = Static<typeof scheduleOrigin>

export const scheduleOrigin = object({ id: text(), name: text(), due_at: time() })

/** How far a resolver says it is. */
export const progress = object({
  milestone: text(),
  /** 0 to 1; null if the resolver does not report it. */
  fraction: nullable(number({ minimum: 0, maximum: 1 })),
  label: nullable(text()),
  at: time(),
})

export type Progress = Static<typeof progress>

/** R8: the answer of GET /instances/{id}. Times are ISO-8601 UTC. */
export type InstanceRecord = Static<typeof instanceRecord>

export const instanceRecord = named(
  'Instance',
  object({
    instance_id: instanceId(),
    name: nullable(text(), { description: 'A name for people' }),
    resolver: text(),
    resolver_version: text(),
    status: oneOf(STATUSES),
    reason: optional(text({ description: 'Why it has this status, where a reason is known' })),
    stop: optional(
      object(
        { reason: text(), force: flag(), requested_at: time() },
        {
          description:
            'The stop that is under way: 30 s after requested_at the worker gets SIGTERM, 10 s later SIGKILL; with force SIGKILL at once',
        },
      ),
    ),
    forced: optional(flag({ description: 'It was cancelled, and its worker had to be killed' })),
    input: payload,
    secret_fields: optional(
      listOf(text(), { description: 'The fields of the input that are secret: their values are not shown' }),
    ),
    output: nullable(text()),
    error: nullable(instanceError),
    supports_resume: flag(),
    resolver_state: nullable(anyObject(), { description: 'The latest state snapshot' }),
    phase: nullable(text()),
    progress: optional(nullable(progress, { description: 'The latest progress that the resolver reported' })),
    sessions_used: optional(count({ description: 'The LLM sessions of the last run, as its result tells' })),
    usage: optional(
      nullable(sessionUsage, {
        description: 'Tokens of the LLM sessions whose turns ended; null without such a session',
      }),
    ),
    cost_usd: optional(
      nullable(number({ minimum: 0 }), { description: 'What they cost, as an estimate; null where it is not known' }),
    ),
    session_kinds: optional(
      listOf(oneOf(SESSION_KINDS), {
        description: 'Where an answer came from: live (a model), scripted (written in advance), replayed (recorded)',
      }),
    ),
    budget_usd: optional(nullable(budgetUsd('What the LLM sessions may cost together; null for no budget'))),
    budget_tokens: optional(
      nullable(budgetTokens('How many tokens the LLM sessions may use together; null for no such budget')),
    ),
    pending_inputs: count({ description: 'The number of open input requests' }),
    created_at: time(),
    updated_at: time(),
    ended_at: nullable(time()),
    parent_id: nullable(text(), { description: 'The instance that it repeats' }),
    labels: optional(labels),
    schedule: optional(nullable(scheduleOrigin, { description: 'The schedule that created it' })),
    queue: optional(nullable(queuePlace, { description: 'Its place, while it waits for a worker' })),
  }),
)

/** How many instances have which status. */
export type StatusCounts = Static<typeof statusCounts>

const counted = optional(count())

export const statusCounts = named(
  'StatusCounts',
  object({
    created: counted,
    starting: counted,
    running: counted,
    awaiting_input: counted,
    paused: counted,
    completed: counted,
    failed: counted,
    cancelled: counted,
  }),
)

/** R47: the resolver's snapshot, and in it what the platform knows. All optional: an older server answers the snapshot alone. */
export const instanceState = named(
  'InstanceState',
  object({
    status: optional(oneOf(STATUSES, { description: 'The status of the instance; a word of the resolver never wins' })),
    phase: optional(nullable(text(), { description: 'The latest of the snapshot and the events' })),
    updated_at: optional(time()),
  }),
  'The latest snapshot that the resolver wrote, with the status and phase of the instance',
)

/** Which interface a consumer used (R25). */
export const DOORS = ['cli', 'http', 'page', 'viewport'] as const

export type Door = (typeof DOORS)[number]

/** Who acts, and through which interface: recorded with every answer and message (R25). */
export interface Actor {
  actor: string
  via: Door
  /** An idempotency key: the same call with the same key takes effect once and gets the same answer. */
  key?: string
}

/** A data file that a resolver wrote for consumers. */
export type DataFile = Static<typeof dataFile>

export const dataFile = named('DataFile', object({ path: text(), bytes: count(), modified_at: time() }))

/** An accepted message: who sent it, and its content. */
export type SentMessage = Static<typeof sentMessage>

export const sentMessage = named(
  'SentMessage',
  object({ number: count(), message_type: text(), payload, actor: text(), via: text(), at: time() }),
)
