/**
 * The base class of a resolver: the twelve members of the contract, and what the SDK offers during a run (spec, Resolver plugin
 * contract).
 */
import { fail } from '../core/errors.ts'
import type { CheckResult } from '../core/protocol/check/reality-check.ts'
import type { Form, Payload } from '../core/protocol/form.ts'
import type { InstanceConfig, MessageType, ResolverResult } from '../core/protocol/instance.ts'
import type { SessionFactory } from '../sessions/contract/contract.ts'
import type { Checkpoint } from './instance/checkpoint.ts'
import type { Awaitable, ContainerSetup, Emitter, ResolverContract, WorkspaceSpec } from './instance/contract.ts'
import type { DataFiles } from './instance/data-files.ts'
import type { InstanceContext, LogLevel } from './instance/instance-context.ts'
import type { CheckEvent, RealityCheck, RealityCheckRequest } from './instance/reality-checks.ts'
import type { Sandbox, SandboxOptions } from './instance/sandbox.ts'
import { ownManifest } from './own-manifest.ts'
import { serve } from './serve.ts'

export abstract class Resolver implements ResolverContract {
  /** Kebab-case; equals the manifest's name. */
  abstract readonly name: string
  /** Semver; equals the manifest's version. */
  abstract readonly version: string
  abstract readonly description: string
  /** spec: supports_resume. From the manifest where a class does not set it. */
  readonly supportsResume: boolean = ownManifest().supports_resume ?? false
  #instance: InstanceContext | undefined

  /** spec: instantiation_schema. The form for a new instance, given the values filled in so far; null for no form. */
  instantiationSchema(_params: Payload | null): Awaitable<Form | null> {
    return null
  }

  /** spec: workspace_spec. The repositories that the platform clones before run(); null for none. */
  workspaceSpec(_params: Payload, _availableCredentials: readonly string[]): Awaitable<WorkspaceSpec | null> {
    return null
  }

  /** spec: container_setup. null for none. */
  containerSetup(_params: Payload): Awaitable<ContainerSetup | null> {
    return null
  }

  /** spec: message_types. The types that may be sent in this state. */
  messageTypes(_instanceState: Record<string, unknown>): Awaitable<MessageType[]> {
    return []
  }

  /** Does the work. Returning undefined means completed. The SDK emits `resolver:created` and `resolver:completed`. */
  abstract run(
    config: InstanceConfig,
    sessions: SessionFactory,
    emitter: Emitter,
    resume: boolean,
  ): Awaitable<ResolverResult | undefined>

  /** spec: on_input_response. The payload is valid. Use this or the promise of requestInput, not both. */
  onInputResponse(_config: InstanceConfig, _requestId: string, _payload: Payload): Awaitable<void> {}

  /** spec: on_message. The type is one of messageTypes, and the payload is valid. */
  onMessage(_config: InstanceConfig, _messageType: string, _payload: Payload): Awaitable<void> {}

  /** Save a checkpoint and return promptly. {@link signal} is aborted as well. */
  stop(_reason: string): Awaitable<void> {}

  /** Serves this resolver on stdin and stdout until the platform ends the process. */
  serve(): void {
    serve(this, { receive: (instance) => this.#receive(instance) })
  }

  /** spec: emit. Appends to `events.jsonl` before it returns. */
  emit(eventType: string, data?: Record<string, unknown>): void {
    this.#context('emit').emit(eventType, data)
  }

  /** spec: update_state. Overwrites `state.json`: keys not given are lost. */
  updateState(state: Record<string, unknown>): void {
    this.#context('update the state').updateState(state)
  }

  /** spec: merge_state. Sets the given keys in `state.json`. */
  mergeState(state: Record<string, unknown>): void {
    this.#context('merge the state').mergeState(state)
  }

  /** spec: request_input. The instance is awaiting_input until the request is answered; rejects when the instance is stopped. */
  requestInput(requestId: string, prompt: string, schema: Form): Promise<Payload> {
    return this.#context('ask').requestInput(requestId, prompt, schema)
  }

  /** Opens a sandbox for steps that you do not trust: at most four at once; removed with the instance. */
  sandbox(options?: SandboxOptions): Promise<Sandbox> {
    return this.#context('open a sandbox').sandboxes.create(options)
  }

  /** The handle of a reality check (spec, Reality check). Throws `check_invalid`, `check_unavailable`, `too_many`. */
  startRealityCheck(request: RealityCheckRequest): Promise<RealityCheck> {
    return this.#context('start a reality check').realityChecks.start(request)
  }

  realityCheckEvents(check: RealityCheck): AsyncIterable<CheckEvent> {
    return check.events()
  }

  waitForRealityCheck(check: RealityCheck): Promise<CheckResult> {
    return check.wait()
  }

  cancelRealityCheck(check: RealityCheck): Promise<void> {
    return check.cancel()
  }

  log(message: string, level?: LogLevel): void {
    this.#context('log').log(message, level)
  }

  /** Data that is kept through a pause. */
  get checkpoint(): Checkpoint {
    return this.#context('keep a checkpoint').checkpoint
  }

  get data(): DataFiles {
    return this.#context('write data').data
  }

  /** Aborted by a stop. */
  get signal(): AbortSignal {
    return this.#context('watch for a stop').signal
  }

  #receive(instance: InstanceContext): void {
    this.#instance = instance
  }

  #context(what: string): InstanceContext {
    if (this.#instance === undefined) throw fail('resolver_not_ready', { what })
    return this.#instance
  }
}
