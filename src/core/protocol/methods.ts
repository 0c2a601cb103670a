/** JSON-RPC between host and resolver (spec, JSON-RPC methods; R40, R44). */
import type { Payload } from './form.ts'
import type { InstanceConfig, ResolverResult } from './instance.ts'

/** Calls of the host on the resolver, and what they carry. */
export interface HostCalls {
  /** `epoch` names the host: what a resolver asks of it carries it back (R40). */
  'resolver.initialize': { params: { config: InstanceConfig; epoch: number }; result: { status: 'ready' } }
  'resolver.run': { params: { resume: boolean }; result: { status: 'started' } }
  'resolver.stop': { params: { reason: string }; result: { acknowledged: true } }
  'resolver.inputResponse': { params: { request_id: string; payload: Payload }; result: unknown }
  /** `number` lets the SDK drop a repeated call (R42). */
  'resolver.message': { params: { message_type: string; payload: Payload; number: number }; result: unknown }
  /** Answers a form, or null for none (R44). */
  'resolver.getInstantiationSchema': { params: { params: Payload | null }; result: unknown }
  'resolver.getWorkspaceSpec': {
    params: { params: Payload; available_credentials: string[] }
    result: unknown
  }
  'resolver.getMessageTypes': { params: { instance_state: Record<string, unknown> }; result: unknown }
}

export type HostCall = keyof HostCalls

/** A notification of the host: end the process now (R40). */
export const SHUTDOWN = 'resolver.shutdown'

/** A notification of the host: a request cannot be asked, and why (R30). Params `{request_id, errors: string[]}`. */
export const INPUT_REFUSED = 'resolver.inputRefused'

/** Notifications of the resolver (R40). */
export interface ResolverNotices {
  /** A doorbell: read the events file now. */
  'resolver.event': { offset: number }
  /** After `status.json` is written. */
  'resolver.finished': { result: ResolverResult }
  'resolver.log': { level: 'debug' | 'info' | 'warn' | 'error'; message: string }
}

/** Reasons the platform itself gives to resolver.stop (R24, R27). */
export const PAUSE_REASON = 'pause_requested'
export const LIFETIME_REASON = 'lifetime_exceeded'

/** The kind of the warning that a resolver ignored a pause, which is given up then (R24). */
export const PAUSE_IGNORED = 'pause_ignored'
