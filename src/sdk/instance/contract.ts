/** The plugin contract of a resolver: its twelve members, and the parameters of run(). */
import type { ArtifactKind } from '../../core/protocol/event.ts'
import type { Form, Payload } from '../../core/protocol/form.ts'
import type { InstanceConfig, MessageType, ResolverResult } from '../../core/protocol/instance.ts'
import type { SessionFactory } from '../../sessions/contract/contract.ts'

export type Awaitable<T> = T | Promise<T>

/** Repositories that the platform clones before run() (spec, workspace_spec). */
export interface WorkspaceSpec {
  repos: { url: string; branch?: string }[]
  /** Start the git-server sidecar. */
  git_server?: boolean
  working_branch?: string
}

/** How the worker's container is prepared (spec, container_setup; R44). */
export interface ContainerSetup {
  setup_commands?: string[]
  bundles?: string[]
  environment?: Record<string, string>
  volume_mounts?: unknown[]
}

/** Writes events. Each one is in `events.jsonl` when the call returns. */
export interface Emitter {
  /**
   * `resolver:…` and names with the resolver's own prefix are kept; any other name gets the prefix. Throws `event_refused` for
   * `platform.…`.
   */
  emit(eventType: string, data?: Record<string, unknown>): void
  /** Emits `resolver:phase` and sets `phase` in the state snapshot. */
  phase(name: string): void
  /** Emits `resolver:progress`; `fraction` is between 0 and 1. */
  progress(milestone: string, fraction?: number, label?: string): void
  /** Emits `resolver:artifact`. */
  artifact(kind: ArtifactKind, value: string, metadata?: Record<string, unknown>): void
}

/** The twelve members (spec, Resolver plugin contract). TypeScript names are camelCase, wire fields stay as in the spec. */
export interface ResolverContract {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly supportsResume: boolean
  instantiationSchema(params: Payload | null): Awaitable<Form | null>
  workspaceSpec(params: Payload, availableCredentials: readonly string[]): Awaitable<WorkspaceSpec | null>
  containerSetup(params: Payload): Awaitable<ContainerSetup | null>
  messageTypes(instanceState: Record<string, unknown>): Awaitable<MessageType[]>
  run(
    config: InstanceConfig,
    sessions: SessionFactory,
    emitter: Emitter,
    resume: boolean,
  ): Awaitable<ResolverResult | undefined>
  onInputResponse(config: InstanceConfig, requestId: string, payload: Payload): Awaitable<void>
  onMessage(config: InstanceConfig, messageType: string, payload: Payload): Awaitable<void>
  stop(reason: string): Awaitable<void>
}
