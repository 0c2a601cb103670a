/**
 * One instance as its resolver sees it: everything that a run can write, read and ask, through the coordination files. {@link
 * file://./../serve.ts} opens it at resolver.initialize; {@link file://./../run.ts} closes it with the run's result.
 */
import { join } from 'node:path'
import { fail } from '../../core/errors.ts'
import { DATA_DIR, EVENTS_FILE, STATE_FILE } from '../../core/protocol/coordination.ts'
import { type ArtifactKind, EVENT_SCHEMA_VERSION, type EventEnvelope } from '../../core/protocol/event.ts'
import type { Form, Payload } from '../../core/protocol/form.ts'
import type { InstanceConfig } from '../../core/protocol/instance.ts'
import type { ResolverNotices } from '../../core/protocol/methods.ts'
import type { Peer } from '../../core/rpc/peer.ts'
import { Checkpoint } from './checkpoint.ts'
import type { Emitter } from './contract.ts'
import { type DataFiles, dataFiles } from './data-files.ts'
import { EventLog } from './event-log.ts'
import { RealityChecks } from './reality-checks.ts'
import { Requests } from './requests.ts'
import { RetryingDisk } from './retry-while-disk-full.ts'
import { Sandboxes } from './sandbox.ts'
import { type State, StateFile } from './state-file.ts'

export type LogLevel = ResolverNotices['resolver.log']['level']

export interface InstanceContextOptions {
  config: InstanceConfig
  /** The path of `.resolve`. */
  dir: string
  /** The prefix of the resolver's own events. */
  name: string
  peer: Peer
  /** The epoch of the host. */
  epoch: number
  onAnswer: (requestId: string, payload: Payload) => void
}

/** The two events that the SDK writes about a run. An author may emit them too, but each is written only once. */
const ONCE = ['resolver:created', 'resolver:completed']

export class InstanceContext implements Emitter {
  readonly config: InstanceConfig
  readonly dir: string
  readonly disk = new RetryingDisk()
  readonly data: DataFiles
  readonly checkpoint: Checkpoint
  readonly requests: Requests
  readonly sandboxes: Sandboxes
  readonly realityChecks: RealityChecks
  readonly #name: string
  readonly #peer: Peer
  readonly #events: EventLog
  readonly #state: StateFile
  readonly #stopping = new AbortController()
  readonly #once = new Set<string>()
  #pendingNotify: NodeJS.Immediate | undefined
  #isClosed = false
  artifacts = 0

  constructor(options: InstanceContextOptions) {
    this.config = options.config
    this.dir = options.dir
    this.#name = options.name
    this.#peer = options.peer
    this.sandboxes = new Sandboxes(options.peer, options.config.sub_container_token, options.epoch)
    this.realityChecks = new RealityChecks(options.peer, options.config.sub_container_token, options.epoch, this.signal)
    this.#events = new EventLog(join(this.dir, EVENTS_FILE))
    this.#state = new StateFile(join(this.dir, STATE_FILE), this.disk, () => this.#notifySoon())
    this.checkpoint = new Checkpoint(this.dir)
    this.data = dataFiles(join(this.dir, DATA_DIR), this.disk, (paths) => this.emit('data_changed', { paths }))
    const emit = (type: string, data: Record<string, unknown>) => this.emit(type, data)
    const { dir, disk, signal } = this
    this.requests = new Requests({ dir, disk, signal, emit, onAnswer: options.onAnswer })
  }

  /** Aborted by a stop, with the `instance_stopped` error as its reason. */
  get signal(): AbortSignal {
    return this.#stopping.signal
  }

  get state(): State {
    return this.#state.current
  }

  hasEmitted(eventType: string): boolean {
    return this.#once.has(eventType)
  }

  emit(eventType: string, data: Record<string, unknown> = {}): void {
    const type = this.#fullType(eventType)
    if (this.#isClosed || this.#once.has(type)) return
    const envelope: EventEnvelope = {
      schema_version: EVENT_SCHEMA_VERSION,
      event_type: type,
      instance_id: this.config.instance_id,
      data,
      timestamp: new Date().toISOString(),
    }
    const line = JSON.stringify(envelope)
    if (ONCE.includes(type)) this.#once.add(type)
    if (type === 'resolver:artifact') this.artifacts++
    this.disk.do(() => {
      this.#events.append(line)
      this.#notifySoon()
    })
  }

  phase(name: string): void {
    const previous = this.state['phase']
    this.mergeState({ phase: name })
    this.emit('resolver:phase', { name, ...(typeof previous === 'string' ? { previous_phase: previous } : {}) })
  }

  progress(milestone: string, fraction?: number, label?: string): void {
    this.emit('resolver:progress', { milestone, fraction: fraction ?? null, ...(label === undefined ? {} : { label }) })
  }

  artifact(kind: ArtifactKind, value: string, metadata?: Record<string, unknown>): void {
    this.emit('resolver:artifact', { kind, value, ...(metadata === undefined ? {} : { metadata }) })
  }

  updateState(state: State): void {
    this.#state.update(state)
  }

  mergeState(state: State): void {
    this.#state.merge(state)
  }

  requestInput(id: string, prompt: string, schema: Form): Promise<Payload> {
    return this.requests.ask(id, prompt, schema)
  }

  log(message: string, level: LogLevel = 'info'): void {
    this.#peer.notify('resolver.log', { level, message })
  }

  stop(reason: string): void {
    this.#stopping.abort(fail('instance_stopped', { reason }))
  }

  /** Syncs everything emitted so far to disk. Later events are dropped. */
  close(): void {
    this.disk.do(() => this.#events.sync())
    this.disk.do(() => this.#notify())
    this.requests.close()
    this.#isClosed = true
  }

  #fullType(eventType: string): string {
    if (eventType === '') throw fail('event_refused', { type: eventType, reason: 'an event needs a name' })
    if (eventType.startsWith('platform.')) {
      throw fail('event_refused', { type: eventType, reason: 'only the platform writes these' })
    }
    if (eventType.startsWith('resolver:') || eventType.startsWith(`${this.#name}.`)) return eventType
    return `${this.#name}.${eventType}`
  }

  #notifySoon(): void {
    this.#pendingNotify ??= setImmediate(() => this.#notify())
  }

  #notify(): void {
    clearImmediate(this.#pendingNotify)
    this.#pendingNotify = undefined
    this.#peer.notify('resolver.event', { offset: this.#events.size })
  }
}
