/** The JSON documents of `--json` and `--jsonl` (docs/json.md). Later versions only add fields. */
import type { ResolveError } from '../../core/errors.ts'
import type { InstanceError, Labels, QueuePlace } from '../../core/protocol/instance.ts'
import { type Spending, spendingOf } from '../../core/view/spending.ts'
import type { Story, StoryArtifact, StoryRequest } from '../../core/view/story.ts'
import { pendingRequests } from '../../core/view/story.ts'
import type { ExitCode } from './exit-codes.ts'
import { nextCommands } from './next-steps.ts'

export interface InstanceDocument extends Spending {
  schema: 'resolve.instance/1'
  instance_id: string
  name: string | null
  labels: Labels
  /** The instance that it repeats. */
  parent_id: string | null
  resolver: string
  resolver_version: string
  status: string
  /** The exit code of the command that prints this document. */
  exit_code: number
  output: string | null
  error: InstanceError | null
  input: Record<string, unknown>
  phase: string | null
  /** The setup of its container; null where there was none. */
  setup: NonNullable<Story['setup']> | null
  /** The commits of the bundles of its LLM sessions. */
  bundles: NonNullable<Story['bundles']>
  /** Its place, while it waits for a worker. */
  queue: QueuePlace | null
  history: { status: string; at: string; reason: string | null; forced?: true }[]
  timing: { created_at: string; started_at: string | null; ended_at: string | null; duration_ms: number | null }
  /** The LLM sessions of the last run, as its result tells. */
  sessions_used: number
  artifacts: StoryArtifact[]
  pending_inputs: Pick<StoryRequest, 'id' | 'prompt' | 'schema' | 'asked_at'>[]
  events: { count: number }
  /** Commands to run next, each a complete line for a POSIX shell. */
  next: string[]
  warnings: string[]
}

export function instanceDocument(story: Story, exitCode: ExitCode, warnings: readonly string[] = []): InstanceDocument {
  const { creation } = story
  return {
    schema: 'resolve.instance/1',
    instance_id: creation.instance_id,
    name: creation.name,
    labels: creation.labels ?? {},
    parent_id: creation.parent_id,
    resolver: creation.resolver.name,
    resolver_version: creation.resolver.version,
    status: story.status,
    exit_code: exitCode,
    output: story.output,
    error: story.error,
    input: creation.input,
    phase: story.phase,
    setup: story.setup ?? null,
    bundles: story.bundles ?? [],
    queue: story.queue ?? null,
    history: story.history.map(({ status, at, reason, forced }) => ({
      status,
      at,
      reason,
      ...(forced === true ? { forced } : {}),
    })),
    timing: timingOf(story),
    sessions_used: story.sessionsUsed ?? 0,
    ...spendingOf(story),
    artifacts: story.artifacts,
    pending_inputs: pendingRequests(story).map(({ id, prompt, schema, asked_at }) => ({
      id,
      prompt,
      schema,
      asked_at,
    })),
    events: { count: story.lastSeq },
    next: nextCommands(story),
    warnings: [...warnings, ...rejectedWarning(story)],
  }
}

function timingOf(story: Story): InstanceDocument['timing'] {
  const created = story.creation.created_at
  return {
    created_at: created,
    started_at: story.history.find((change) => change.status === 'running')?.at ?? null,
    ended_at: story.endedAt,
    duration_ms: story.endedAt === null ? null : Date.parse(story.endedAt) - Date.parse(created),
  }
}

function rejectedWarning(story: Story): string[] {
  if (story.rejected === 0) return []
  const lines = story.rejected === 1 ? '1 line' : `${story.rejected} lines`
  return [`${lines} of the resolver did not follow the event contract; see the events platform.event.rejected.`]
}

export interface ErrorField {
  /** The field, flag or component of the message; null if it has none. */
  id: string | null
  message: string
}

export interface ErrorDocument {
  schema: 'resolve.error/1'
  exit_code: number
  /** Present if the command worked on one instance and knew its id. */
  instance_id?: string
  /** Present if the command used a server: its address, and the context. */
  server?: string
  error: { code: string; message: string; hint: string | null; fields: ErrorField[] }
  next: string[]
}

export interface ErrorExtras {
  instance_id?: string
  server?: string
  /** Replaces the error's own hint. */
  hint?: string
  fields?: readonly ErrorField[]
  next?: readonly string[]
}

export function errorDocument(error: ResolveError, exitCode: number, extras: ErrorExtras = {}): ErrorDocument {
  return {
    schema: 'resolve.error/1',
    exit_code: exitCode,
    ...(extras.instance_id === undefined ? {} : { instance_id: extras.instance_id }),
    ...(extras.server === undefined ? {} : { server: extras.server }),
    error: {
      code: error.code,
      message: error.message,
      hint: extras.hint ?? error.hint ?? null,
      fields: [...(extras.fields ?? fieldsOf(error))],
    },
    next: [...(extras.next ?? [])],
  }
}

/** The closing line of `--jsonl`. */
export type ClosingLine =
  | { type: 'done'; instance: InstanceDocument }
  | { type: 'left'; reason: LeftReason; instance: InstanceDocument }

/** Why a command stopped following an instance that had not ended. */
export type LeftReason =
  | 'input_required'
  | 'answer_invalid'
  | 'paused'
  | 'timeout'
  | 'detached'
  | 'hangup'
  | 'interrupted'
  | 'terminated'
  | 'no_host'
  | 'connection_lost'

function fieldsOf(error: ResolveError): ErrorField[] {
  return error.fields.length > 0 ? [...error.fields] : error.errors.map((message) => ({ id: null, message }))
}
