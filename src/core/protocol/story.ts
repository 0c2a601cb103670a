/** The projection of a journal as consumers see it; {@link file://./../view/story.ts} computes it. */

import {
  anyObject,
  count,
  flag,
  integer,
  listOf,
  named,
  nullable,
  number,
  object,
  oneOf,
  optional,
  text,
  time,
} from '../schema/schema.ts'
import { form } from './form.ts'
import { instanceError, progress, queuePlace, REQUEST_STATUSES } from './instance.ts'
import { creationRecord } from './journal.ts'
import { bundleCommit, sessionSpending, sessionSummary } from './session/session.ts'
import { STATUSES } from './status.ts'
import { clonedRepo, PULL_ACTIONS } from './workspace.ts'

const statusChange = object({
  status: oneOf(STATUSES),
  at: time(),
  reason: nullable(text()),
  /** R57: the worker was killed. */
  forced: optional(flag()),
})

export const storyRequest = object({
  id: text(),
  prompt: text(),
  schema: form,
  status: oneOf(REQUEST_STATUSES),
  asked_at: time(),
  answered_at: nullable(text()),
  actor: nullable(text()),
  via: nullable(text()),
  /** R58: asked by a worker that was lost, and not asked again yet. */
  carried: optional(flag()),
})

const storyMessage = object({
  number: integer(),
  message_type: text(),
  actor: text(),
  via: text(),
  at: time(),
})

export const storyPhase = object({ name: text(), at: time() })

/** The setup of the container: its latest step. */
const storySetup = object({
  state: oneOf(['running', 'completed', 'failed']),
  /** 0 before the first step. */
  step: count(),
  total: count(),
  description: nullable(text()),
  /** The last line that the step printed. */
  output: nullable(text()),
  /** How much of a clone is done, from 0 to 1. */
  fraction: optional(nullable(number({ minimum: 0, maximum: 1 }))),
  at: time(),
})

const storyGit = object({
  pushes: listOf(object({ repo: text(), ref: text(), commit: nullable(text()), at: time() })),
  pulls: listOf(
    object({
      repo: text(),
      number: count(),
      action: oneOf(PULL_ACTIONS),
      title: text(),
      head: text(),
      base: text(),
      commit: text(),
      url: text(),
      at: time(),
    }),
  ),
  /** How far the pull requests of the git server were read. */
  next: count(),
})

export const storySnapshot = object({ repo: text(), seq: count({ minimum: 1 }), cause: text(), at: time() })

export const storyArtifact = object({
  kind: text(),
  value: text(),
  metadata: nullable(anyObject()),
  at: time(),
})

export const storyCompletion = object({
  outcome: oneOf(['success', 'failed']),
  summary: text(),
  duration_s: nullable(number()),
  error: nullable(instanceError),
})

/** R57: a stop that was accepted and has not ended the instance yet. */
export const storyStop = object({
  reason: text(),
  /** The worker is killed at once. */
  force: flag(),
  requested_at: time(),
})

export const story = named(
  'Story',
  object({
    creation: creationRecord,
    status: oneOf(STATUSES),
    history: listOf(statusChange),
    phase: nullable(text()),
    phases: listOf(storyPhase),
    progress: nullable(progress),
    /** null where there was none; absent from a server of an earlier version. */
    setup: optional(nullable(storySetup)),
    /** The repositories of its workspace, once they are cloned. */
    repos: optional(listOf(clonedRepo)),
    /** The bundles of its sessions, once they are fetched; absent where none come from git. */
    bundles: optional(listOf(bundleCommit)),
    /** What was pushed to its git server: the latest of each branch and tag, and its pull requests. */
    git: optional(storyGit),
    /** The latest snapshot of each repository. */
    snapshots: optional(listOf(storySnapshot)),
    /** Its LLM sessions, as they were told; the latest. */
    sessions: optional(listOf(sessionSummary)),
    /** What all of them used together; absent before the first turn began. */
    spending: optional(sessionSpending),
    artifacts: listOf(storyArtifact),
    requests: listOf(storyRequest),
    messages: listOf(storyMessage),
    /** Data files that the resolver reported as changed, latest last. */
    changedData: listOf(text()),
    /** The last `resolver:completed`; each run emits one. */
    completion: nullable(storyCompletion),
    output: nullable(text()),
    error: nullable(instanceError),
    /** The LLM sessions of the last run, as its result tells. */
    sessionsUsed: optional(count()),
    /** How many workers were launched, and how many were requested (each resume requests another). */
    incarnation: count(),
    wantedIncarnation: count(),
    /** Its place, while it waits for a worker. */
    queue: optional(nullable(queuePlace)),
    /** The incarnation whose turn to start was recorded, and how long resumed ones waited for theirs. */
    turn: optional(count()),
    queuedMs: optional(count()),
    /** How many times another host took over. */
    adoptions: count(),
    /** The number of rejected event lines of the resolver. */
    rejected: count(),
    lastSeq: count({ description: 'The number of the last event' }),
    lastEventAt: time(),
    endedAt: nullable(time()),
    /** The stop that is under way, if there is one. */
    stop: optional(storyStop),
  }),
  'What a person sees of an instance, as all that its events tell',
)
