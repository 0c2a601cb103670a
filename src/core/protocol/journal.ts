/** The content of an instance's journal (on-disk, The journal). */

import {
  anyObject,
  anything,
  constant,
  flag,
  listOf,
  nullable,
  object,
  oneOf,
  optional,
  type Static,
  text,
  time,
} from '../schema/schema.ts'
import type { EventEnvelope } from './event.ts'
import { type Payload, payload } from './form.ts'
import { type Actor, instanceId, type Labels, labels, scheduleOrigin } from './instance.ts'
import { manifest } from './manifest.ts'
import { budgetTokens, budgetUsd } from './session/session.ts'
import { type WorkspacePlan, workspacePlan } from './workspace.ts'

export const EXECUTORS = ['local', 'docker'] as const

export type Executor = (typeof EXECUTORS)[number]

/** The container that a resolver wants: its manifest and its container_setup merged (spec, container_setup; R44). */
export type ContainerOptions = Static<typeof containerOptions>

export const containerOptions = object({
  /** null for the platform's default image. */
  image: nullable(text()),
  command: listOf(text()),
  setup_commands: listOf(text()),
  /** The commands that container_setup added; they run after the manifest's. */
  added_setup_commands: listOf(text()),
  bundles: listOf(text()),
  volume_mounts: listOf(anything()),
  dev_source_overrides: listOf(text()),
})

/** The creation record, line 0 of a journal: what was fixed when the instance was created. It is not an event and is never streamed. */
export type CreationRecord = Static<typeof creationRecord>

export const creationRecord = object(
  {
    schema: constant('resolve.journal/1'),
    instance_id: instanceId(),
    name: nullable(text()),
    parent_id: nullable(text()),
    /** Absent in instances of an earlier version. */
    labels: optional(labels),
    /** The schedule that created it (R72). */
    schedule: optional(scheduleOrigin),
    created_at: time(),
    /** Without the values of secret fields. */
    input: payload,
    /** The secret fields that were given (R55). Absent where there are none. */
    secret_fields: optional(listOf(text())),
    /** What its LLM sessions may cost together, in US dollars. Absent where there is no budget. */
    budget_usd: optional(budgetUsd('What the LLM sessions may cost together')),
    budget_tokens: optional(budgetTokens('How many tokens the LLM sessions may use together')),
    executor: oneOf(EXECUTORS),
    /** What the resolver's container_setup adds to its worker's environment (R44, R45). */
    environment: anyObject<string>({ additionalProperties: text() }),
    /** The container: the manifest's `container` merged with what container_setup added; null without a container. */
    container: optional(nullable(containerOptions)),
    /** The bundles of its sessions where it has no container; absent where there are none. */
    bundles: optional(listOf(text())),
    /** The repositories of its workspace; absent where there are none. */
    workspace: optional(workspacePlan),
    /** The resolver had to be prepared first: the host checks the input after the setup (R48). */
    unchecked: optional(flag()),
    /** The resolver as the catalog had it at creation: a later `resolver update` does not change a running instance. */
    resolver: object({ name: text(), version: text(), dir: text(), commit: nullable(text()), manifest }),
  },
  { description: 'What was fixed when the instance was created' },
)

/** One event of a journal. `text` is the envelope byte for byte as journaled and as streamed. */
export interface JournalEvent {
  seq: number
  /** The offset just after this line in the worker's events.jsonl; null for an event of the platform. */
  sourceEnd: number | null
  text: string
  event: EventEnvelope
}

// Private lines: the host's own notes, which are never sent to a reader (on-disk, Private lines).

/** An accepted answer. */
export interface AnswerIntent extends Actor {
  kind: 'answer'
  request_id: string
  payload: Payload
  /** The values of secret fields, which `payload` does not have, sealed with the key of the home. */
  sealed?: string
  at: string
}

/** An accepted message. The messages of an instance are numbered from 1 without gaps. */
export interface MessageIntent extends Actor {
  kind: 'message'
  number: number
  message_type: string
  payload: Payload
  /** As in {@link AnswerIntent}. */
  sealed?: string
  at: string
}

/** An accepted stop, cancel or pause. It applies to one incarnation of the worker. */
export interface StopIntent {
  kind: 'stop'
  how: 'stop' | 'cancel' | 'pause'
  reason: string
  force: boolean
  incarnation: number
  at: string
}

/** A stop on disk that no host has accepted yet, in `owners/stop.json` (on-disk, Owners). */
export interface KeptStop {
  how: 'stop' | 'cancel'
  reason: string
  force: boolean
  /** The worker that it concerns: it is void for a later one. */
  incarnation: number
}

/** The resolver took an answer, or a message. */
export type Delivered = { kind: 'delivered'; request_id: string } | { kind: 'delivered'; number: number }

/** The resolver acknowledged `run()` for this incarnation. */
export interface RunMark {
  kind: 'run'
  incarnation: number
  /** The id of the machine's boot. Absent in lines of an earlier version. */
  boot?: string
}

/** The instance had a sandbox: the host that ends the instance removes what is left. */
export interface SandboxMark {
  kind: 'sandbox'
}

/** The name a consumer gave the instance after its creation (R9). */
export interface NameMark {
  kind: 'name'
  name: string | null
  at: string
}

/** The labels of the instance since then, all of them. */
export interface LabelsMark {
  kind: 'labels'
  labels: Labels
  at: string
}

/** The input was checked after the setup, and what the resolver wants for it (R48). */
export interface AdmissionMark {
  kind: 'admitted'
  /** False where a check failed: then the instance ends. */
  accepted: boolean
  environment: Record<string, string>
  container: ContainerOptions | null
  /** Absent where no repository is wanted. */
  workspace?: WorkspacePlan
  input: Payload
  secret_fields: string[]
  /** The values of the secret fields, as in {@link SealedInput}. */
  sealed: string | null
}

/** An input that was not checked yet, sealed as a whole: its secret fields are known only after the setup. */
export interface UncheckedInput {
  kind: 'unchecked_input'
  sealed: string
}

/** The values of the secret fields of the input, which the creation record does not have, sealed with the key of the home. */
export interface SealedInput {
  kind: 'sealed_input'
  sealed: string
}

/** The files of the earlier layout have been copied into the journal. */
export interface ImportMark {
  kind: 'imported'
}

export type PrivateLine =
  | AnswerIntent
  | MessageIntent
  | StopIntent
  | Delivered
  | RunMark
  | SandboxMark
  | NameMark
  | LabelsMark
  | AdmissionMark
  | UncheckedInput
  | SealedInput
  | ImportMark
