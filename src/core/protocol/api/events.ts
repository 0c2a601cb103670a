/**
 * What the data of every event of tiers 1 and 2 holds (spec, Events; R17, R18): docs/events.md is compared with it, and the host can
 * record no event of the platform that does not fit. What a resolver writes is forwarded as it is: readers take it for hostile.
 */

import {
  anyObject,
  count,
  flag,
  integer,
  listOf,
  nullable,
  number,
  object,
  oneOf,
  optional,
  type Schema,
  type Static,
  text,
} from '../../schema/schema.ts'
import { skippedPath } from '../changes.ts'
import { ARTIFACT_KINDS, type PlatformEvent, type ResolverEvent } from '../event.ts'
import { form, payload } from '../form.ts'
import { instanceError, instanceId, QUEUE_BOUNDS } from '../instance.ts'
import { EXECUTORS } from '../journal.ts'
import { bundleCommit, sessionCompleted, sessionDispatched } from '../session/session.ts'
import { STATUSES } from '../status.ts'
import { clonedRepo, pushedRef, toldPull } from '../workspace.ts'

export const SETUP_CAUSES = ['setup_commands', 'repo_clone', 'container_init', 'manifest_parse', 'git_sidecar'] as const

const outcome = oneOf(['success', 'failed'])

/** `actor` and `via` of a consumer. */
const promotion = {
  repo: text(),
  branch: text(),
  target_branch: nullable(text()),
  by: oneOf(['worker', 'consumer']),
  actor: optional(text()),
  via: optional(text()),
}

const actor = { actor: text(), via: text() }

const checkStatistics = object({
  total: count(),
  passed: count(),
  failed: count(),
  missing: count(),
  pass_rate: text(),
})

export const EVENT_DATA = {
  'platform.container.creating': object({ image: text(), incarnation: count() }),
  'platform.setup.starting': object({ total: count() }),
  'platform.setup.progress': object({
    step: count(),
    total: count(),
    description: text(),
    exit_code: optional(integer()),
    /** The last line that the command printed. */
    output: optional(text()),
    /** How much of a clone is done. */
    fraction: optional(number({ minimum: 0, maximum: 1 })),
  }),
  'platform.setup.completed': object({
    total: count(),
    cached: flag(),
    duration_s: number(),
    /** The commits of the bundles that were fetched; only where there are bundles. */
    bundles: optional(listOf(bundleCommit)),
  }),
  'platform.setup.failed': object({ cause: oneOf(SETUP_CAUSES), error: text(), stage: text() }),
  /** The repositories of the workspace are cloned. `server` is null without a git server. */
  'platform.git.ready': object({ repos: listOf(clonedRepo), server: nullable(text()) }),
  /** The worker pushed to its git server, and the host has the commits. */
  'platform.git.pushed': pushedRef,
  'platform.git.pull_request': toldPull,
  /** The files of a repository in the workspace were kept. The numbers compare with the start. */
  'platform.git.snapshot': object({
    repo: text(),
    seq: count({ minimum: 1 }),
    commit: text(),
    cause: text(),
    files: count(),
    additions: count(),
    deletions: count(),
    skipped: listOf(skippedPath),
    skipped_total: optional(count()),
  }),
  /** At a resume: the branch that the work began at has `commits` upstream that the start of the work does not have. */
  'platform.git.behind': object({ repo: text(), branch: text(), commit: text(), commits: count() }),
  /** `target_branch` is null for the default branch of the upstream. */
  'platform.promotion.requested': object(promotion),
  'platform.promotion.completed': object({
    ...promotion,
    commit: text(),
    pr_url: text(),
    number: integer(),
    created: flag(),
  }),
  'platform.promotion.failed': object({ ...promotion, code: text(), error: text() }),
  'platform.worker.launched': object({
    incarnation: count(),
    executor: oneOf(EXECUTORS),
    events_offset: count(),
  }),
  'platform.worker.ready': object({ incarnation: count() }),
  'platform.worker.failed': object({ cause: text(), error: text() }),
  'platform.worker.adopted': object({ epoch: count() }),
  'platform.instance.status_changed': object({
    from: oneOf(STATUSES),
    to: oneOf(STATUSES),
    reason: optional(text()),
    /** The worker was killed, because it did not end in time or a consumer wanted it (R57). */
    forced: optional(flag()),
    output: optional(nullable(text())),
    error: optional(nullable(instanceError)),
    sessions_used: optional(count()),
  }),
  'platform.instance.queued': object({
    position: count({ minimum: 1 }),
    bound: oneOf(QUEUE_BOUNDS),
    limit: count({ minimum: 1 }),
  }),
  'platform.instance.dequeued': object({ waited_s: number({ minimum: 0 }) }),
  'platform.input.requested': object({
    request_id: text(),
    prompt: text(),
    schema: form,
    status: oneOf(['pending']),
  }),
  'platform.input.answered': object({ request_id: text(), ...actor }),
  'platform.message.accepted': object({ number: count(), message_type: text(), ...actor }),
  'platform.watchdog.warning': object({
    kind: text(),
    value: number(),
    limit: number(),
    paths: optional(listOf(text())),
    detail: optional(text()),
  }),
  'platform.event.rejected': object({
    reason: text(),
    bytes: count(),
    lines: optional(count()),
    detail: optional(text()),
    request_id: optional(text()),
  }),
  'platform.egress.denied': object({ host: text(), port: integer(), reason: text(), count: count() }),
  'platform.resolver.session_dispatched': sessionDispatched,
  'platform.resolver.session_completed': sessionCompleted,
  'platform.reality_check.submitted': object({ session_id: text(), software: text(), tests: count() }),
  'platform.reality_check.runner_started': object({ session_id: text(), runner_image: text() }),
  'platform.reality_check.recipe_step': object({
    session_id: text(),
    /** clone, plan, dependencies, build, start, or `test:` and the id of a test. */
    step_name: text(),
    state: oneOf(['begun', 'done', 'failed']),
    duration_s: optional(number({ minimum: 0 })),
    detail: optional(text()),
  }),
  /** `port` is null for software that is no server. */
  'platform.reality_check.dtu_provisioned': object({
    session_id: text(),
    dtu_id: text(),
    access_urls: listOf(text()),
    port: nullable(integer()),
  }),
  /** There is a verdict: `pass`, `partial` or `fail`. */
  'platform.reality_check.completed': object({
    session_id: text(),
    verdict: text(),
    failure_mode: nullable(text()),
    statistics: checkStatistics,
  }),
  /** There is none. */
  'platform.reality_check.failed': object({ session_id: text(), failure_mode: text(), error: text() }),
  'platform.reality_check.cancelled': object({ session_id: text(), reason: text() }),
  'resolver:created': object({
    resolver_name: text(),
    resolver_version: text(),
    instance_id: instanceId(),
    params: payload,
    capabilities_granted: listOf(text()),
  }),
  'resolver:phase': object({ name: text(), previous_phase: optional(text()) }),
  'resolver:progress': object({
    milestone: text(),
    fraction: nullable(number({ minimum: 0, maximum: 1 })),
    label: optional(text()),
  }),
  'resolver:artifact': object({
    kind: oneOf(ARTIFACT_KINDS),
    value: text(),
    metadata: optional(anyObject()),
  }),
  'resolver:input_requested': object({ request_id: text(), prompt: text() }),
  'resolver:input_responded': object({ request_id: text(), outcome: text(), duration_s: number() }),
  'resolver:health': object({ signals: anyObject() }),
  'resolver:completed': object({
    outcome,
    summary: text(),
    duration_s: number(),
    artifact_count: count(),
    error: optional(instanceError),
  }),
} as const satisfies Record<PlatformEvent | ResolverEvent, Schema | null>

/** What an event of the platform carries. One that is not written yet carries nothing. */
export type EventData<T extends PlatformEvent> = (typeof EVENT_DATA)[T] extends infer S
  ? S extends Schema
    ? Static<S>
    : never
  : never
