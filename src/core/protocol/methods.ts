/** The JSON-RPC methods between host and resolver (spec, JSON-RPC methods; R40, R44). */
import type { Payload } from './form.ts'
import type { InstanceConfig, ResolverResult } from './instance.ts'

/** Calls of the host to the resolver, with their params. */
export interface HostCalls {
  /** `epoch` identifies the host; the resolver's own calls carry it back (R40). */
  'resolver.initialize': { params: { config: InstanceConfig; epoch: number }; result: { status: 'ready' } }
  'resolver.run': { params: { resume: boolean }; result: { status: 'started' } }
  'resolver.stop': { params: { reason: string }; result: { acknowledged: true } }
  'resolver.inputResponse': { params: { request_id: string; payload: Payload }; result: unknown }
  /** `number` lets the SDK ignore a repeated call (R42). */
  'resolver.message': { params: { message_type: string; payload: Payload; number: number }; result: unknown }
  /** Returns a form, or null for none (R44). */
  'resolver.getInstantiationSchema': { params: { params: Payload | null }; result: unknown }
  'resolver.getWorkspaceSpec': {
    params: { params: Payload; available_credentials: string[] }
    result: unknown
  }
  'resolver.getMessageTypes': { params: { instance_state: Record<string, unknown> }; result: unknown }
}

export type HostCall = keyof HostCalls

/** A host notification: end the process now (R40). */
export const SHUTDOWN = 'resolver.shutdown'

/** A host notification: a request has a malformed form (R30). Params `{request_id, errors: string[]}`. */
export const INPUT_REFUSED = 'resolver.inputRefused'

/** Notifications of the resolver (R40). */
export interface ResolverNotices {
  /** "Check now": the events file has new lines. */
  'resolver.event': { offset: number }
  /** Sent after `status.json` is written. */
  'resolver.finished': { result: ResolverResult }
  /** What the resolver's own code says about it; sent before the answer that gives the form, and compared at registration (R52). */
  'resolver.identity': Identity
  'resolver.log': { level: 'debug' | 'info' | 'warn' | 'error'; message: string }
}

/** What a resolver tells of itself; each key may be absent. */
export interface Identity {
  name?: string
  version?: string
  supports_resume?: boolean
}

/** The reasons that the platform itself passes to resolver.stop (R24, R27). */
export const PAUSE_REASON = 'pause_requested'
export const LIFETIME_REASON = 'lifetime_exceeded'

/** R58: why an instance is paused whose worker was lost, and why it runs again where the platform resumed it by itself. */
export const WORKER_LOST = 'worker_lost'
export const RESUMED_LOST = 'resumed_lost'

/** The kind of the warning that a resolver ignored a pause, which is given up then (R24). */
export const PAUSE_IGNORED = 'pause_ignored'
