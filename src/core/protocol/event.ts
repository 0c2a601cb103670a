/** The event envelope and the vocabulary of its first two tiers (spec, Events; R14–R19). */

export const EVENT_SCHEMA_VERSION = 1

export interface EventEnvelope {
  schema_version: number
  event_type: string
  instance_id: string
  data: Record<string, unknown>
  /** ISO-8601 UTC, milliseconds or finer (R14). */
  timestamp: string
}

/** Tier 1, complete (R17). Only the platform may write these. */
export const PLATFORM_EVENTS = [
  'platform.container.creating',
  'platform.setup.starting',
  'platform.setup.progress',
  'platform.setup.completed',
  'platform.setup.failed',
  'platform.git.ready',
  'platform.git.pushed',
  'platform.git.pull_request',
  'platform.git.snapshot',
  'platform.git.behind',
  'platform.promotion.requested',
  'platform.promotion.completed',
  'platform.promotion.failed',
  'platform.worker.launched',
  'platform.worker.ready',
  'platform.worker.failed',
  'platform.worker.adopted',
  'platform.instance.status_changed',
  'platform.instance.queued',
  'platform.instance.dequeued',
  'platform.input.requested',
  'platform.input.answered',
  'platform.message.accepted',
  'platform.watchdog.warning',
  'platform.event.rejected',
  'platform.egress.denied',
  'platform.resolver.session_dispatched',
  'platform.resolver.session_completed',
  'platform.reality_check.submitted',
  'platform.reality_check.runner_started',
  'platform.reality_check.recipe_step',
  'platform.reality_check.dtu_provisioned',
  'platform.reality_check.completed',
  'platform.reality_check.failed',
  'platform.reality_check.cancelled',
] as const

export type PlatformEvent = (typeof PLATFORM_EVENTS)[number]

/** Tier 2, complete (R18). Written by the SDK or the resolver. */
export const RESOLVER_EVENTS = [
  'resolver:created',
  'resolver:phase',
  'resolver:progress',
  'resolver:artifact',
  'resolver:input_requested',
  'resolver:input_responded',
  'resolver:health',
  'resolver:completed',
] as const

export type ResolverEvent = (typeof RESOLVER_EVENTS)[number]

/** What the SDK writes about LLM sessions; the host journals them as events of the platform (R56). */
export const SESSION_DISPATCHED = 'resolver:session_dispatched'
export const SESSION_COMPLETED = 'resolver:session_completed'

export const ARTIFACT_KINDS = ['pr', 'branch', 'commit', 'file', 'summary', 'verdict', 'error', 'other'] as const

export type ArtifactKind = (typeof ARTIFACT_KINDS)[number]

/** The marker that ends an event stream (spec, Events). */
export const DONE_MARKER = 'done'

export type Tier = 1 | 2 | 3

export function tierOf(eventType: string): Tier {
  if (eventType.startsWith('platform.')) return 1
  return eventType.startsWith('resolver:') ? 2 : 3
}

/** R19: the event that lists changed data files, with the prefix of any resolver. */
export function isDataChanged(eventType: string): boolean {
  return eventType.endsWith('.data_changed')
}
