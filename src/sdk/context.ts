/** The context that run() and message handlers of the functional form get: one object with everything, typed by the definition. */
import { fail } from '../core/errors.ts'
import type { ArtifactKind } from '../core/protocol/event.ts'
import type { Form, Payload } from '../core/protocol/form.ts'
import type { InstanceConfig } from '../core/protocol/instance.ts'
import type { SessionFactory } from '../sessions/contract/contract.ts'
import { type Fields, form, type ValuesOf, valuesOf } from './forms/fields.ts'
import type { Checkpoint } from './instance/checkpoint.ts'
import type { DataFiles } from './instance/data-files.ts'
import type { InstanceContext, LogLevel } from './instance/instance-context.ts'
import { type Promoted, type PromoteOptions, promote } from './instance/promote.ts'
import type { RealityCheck, RealityCheckRequest } from './instance/reality-checks.ts'
import type { Sandbox, SandboxOptions } from './instance/sandbox.ts'
import { type Repository, repositoriesOf, workingDirectoryOf } from './instance/workspace.ts'

export interface Context<V = Payload, P extends string = string> {
  /** The input, typed by `params`. Missing values have their defaults; undeclared keys are kept. */
  readonly params: V
  readonly config: InstanceConfig
  readonly instanceId: string
  /** Aborted by a stop, with an error as its reason that carries the stop's reason. Pass it to everything that waits. */
  readonly signal: AbortSignal
  /** True where this run goes on after a pause. */
  readonly resume: boolean
  /** LLM sessions with tools (docs/sessions.md). */
  readonly sessions: SessionFactory
  /** The repositories that the platform cloned, in the order of the workspace spec. */
  readonly workspace: readonly Repository[]
  /** The directory that tools begin in: the clone where there is one repository, else the workspace. */
  readonly workingDirectory: string
  readonly data: DataFiles
  readonly checkpoint: Checkpoint
  /** The current state snapshot. */
  readonly state: Record<string, unknown>
  /** An event name without a prefix gets the resolver's own prefix. */
  emit(eventType: string, data?: Record<string, unknown>): void
  /** Emits `resolver:phase` and sets `phase` in the state. */
  phase(name: P): void
  /** `fraction` is between 0 and 1. */
  progress(milestone: string, fraction?: number, label?: string): void
  artifact(kind: ArtifactKind, value: string, metadata?: Record<string, unknown>): void
  /** Replaces the whole state: keys not given are lost. */
  updateState(state: Record<string, unknown>): void
  mergeState(state: Record<string, unknown>): void
  /**
   * Sends an input request and resolves with the answer, typed by the fields. An answer from before a pause is returned at
   * once.
   */
  ask<const F extends Fields>(requestId: string, prompt: string, fields: F): Promise<ValuesOf<F>>
  requestInput(requestId: string, prompt: string, schema: Form): Promise<Payload>
  /** Calls the handler for each message as it arrives. Returns the function that removes it. */
  onMessage(listener: MessageListener): () => void
  /** Opens a sandbox for steps that you do not trust: at most four at once; removed with the instance. */
  sandbox(options?: SandboxOptions): Promise<Sandbox>
  /**
   * Asks the host to open a pull request at the upstream for a branch that was pushed to the git server. A repeated call updates it.
   * Throws `feature_missing` without a git server, and the reason of a refusal: `promotion_…`, `nothing_to_promote`, `forge_…`.
   */
  promote(options: PromoteOptions): Promise<Promoted>
  /**
   * Asks the host to build and start software where nothing of this machine is, and to test it against criteria (docs/reality-check.md). What comes of
   * it is a result; throws `check_invalid`, `check_unavailable` or `too_many` where it is refused.
   */
  realityCheck(request: RealityCheckRequest): Promise<RealityCheck>
  log(message: string, level?: LogLevel): void
  /** Ends the run as paused. Save a checkpoint first. */
  pause(summary?: string): never
}

export type MessageListener = (messageType: string, payload: Payload) => void

export interface ContextOptions<V> {
  instance: InstanceContext
  params: V
  resume: boolean
  sessions: SessionFactory
  listeners: Set<MessageListener>
}

export function createContext<V, P extends string>(options: ContextOptions<V>): Context<V, P> {
  const { instance, listeners } = options
  return {
    params: options.params,
    config: instance.config,
    instanceId: instance.config.instance_id,
    signal: instance.signal,
    resume: options.resume,
    sessions: options.sessions,
    workspace: repositoriesOf(instance.config),
    workingDirectory: workingDirectoryOf(instance.config),
    data: instance.data,
    checkpoint: instance.checkpoint,
    get state() {
      return instance.state
    },
    emit: (type, data) => instance.emit(type, data),
    phase: (name) => instance.phase(name),
    progress: (milestone, fraction, label) => instance.progress(milestone, fraction, label),
    artifact: (kind, value, metadata) => instance.artifact(kind, value, metadata),
    updateState: (state) => instance.updateState(state),
    mergeState: (state) => instance.mergeState(state),
    requestInput: (id, prompt, schema) => instance.requestInput(id, prompt, schema),
    async ask(id, prompt, fields) {
      return valuesOf(fields, await instance.requestInput(id, prompt, form(fields)))
    },
    onMessage(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    sandbox: (options) => instance.sandboxes.create(options),
    promote: (asked) => promote(instance.config, asked, instance.signal),
    realityCheck: (request) => instance.realityChecks.start(request),
    log: (message, level) => instance.log(message, level),
    pause(summary = 'paused') {
      throw fail('run_paused', { summary })
    },
  }
}
