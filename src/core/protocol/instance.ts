/** The documents of an instance: config, result, requests, messages and the record (spec, Resources; R8, R43). */
import type { Form, Payload } from './form.ts'
import type { Status } from './status.ts'

/** Written to `config.json`, read by the resolver (spec, InstanceConfig; R43). */
export interface InstanceConfig {
  instance_id: string
  resolver_name: string
  params: Payload
  workspace_path: string
  /** R43: the path of `/project` for this worker. */
  project_path: string
  /** R43: the path of `.resolve` for this worker, also in RESOLVE_DIR. */
  resolve_path: string
  git_provider: { type: string; base_url: string; token: string }
  credentials: { llm_provider_api_key: string; git_host_token: string }
  sub_container_token: string
  capabilities: string[]
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
export type RequestStatus = 'pending' | 'answered' | 'cancelled'

export interface InputRequest {
  id: string
  prompt: string
  schema: Form
  status: RequestStatus
}

export interface MessageType {
  name: string
  label: string
  description: string
  schema: Form
}

/** Written to `messages/{N}.json`. */
export interface Message {
  number: number
  message_type: string
  payload: Payload
}

export interface InstanceError {
  code: string
  detail: string
}

/** R8: the answer of GET /instances/{id}. Times are ISO-8601 UTC. */
export interface InstanceRecord {
  instance_id: string
  name: string | null
  resolver: string
  resolver_version: string
  status: Status
  input: Payload
  output: string | null
  error: InstanceError | null
  supports_resume: boolean
  resolver_state: Record<string, unknown> | null
  phase: string | null
  /** The number of requests that wait for an answer. */
  pending_inputs: number
  created_at: string
  updated_at: string
  ended_at: string | null
  parent_id: string | null
}

/** Which interface a consumer used (R25). */
export type Door = 'cli' | 'http' | 'page'

/** Who acts, and through which interface: recorded with every answer and message (R25). */
export interface Actor {
  actor: string
  via: Door
  /** An idempotency key: the same call with the same key takes effect once and gets the same answer. */
  key?: string
}

/** A data file that a resolver wrote for consumers. */
export interface DataFile {
  path: string
  bytes: number
  /** ISO-8601 UTC. */
  modified_at: string
}

/** An accepted message: who sent it, and its content. */
export interface SentMessage {
  number: number
  message_type: string
  payload: Payload
  actor: string
  via: string
  /** ISO-8601 UTC. */
  at: string
}
