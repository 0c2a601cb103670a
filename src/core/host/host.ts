/**
 * The story of one instance, as its host lives it: start → run → settle, from whatever point the journal stands at.
 * Any process can take it up again from there (plan, decision 2); {@link file://./host-process.ts} holds the running ones.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { fail, ResolveError } from '../errors.ts'
import { COORDINATION_FILE_MAX_BYTES, OUTCOME_GRACE_MS, STOP_LIMIT_MS, TERM_LIMIT_MS } from '../limits.ts'
import { requestFile, STATUS_FILE } from '../protocol/coordination.ts'
import type { Payload } from '../protocol/form.ts'
import {
  type Actor,
  type InstanceConfig,
  type MessageType,
  RESULT_STATUSES,
  type ResolverResult,
} from '../protocol/instance.ts'
import { LIFETIME_REASON, PAUSE_REASON } from '../protocol/methods.ts'
import { hasWorker, isTerminal } from '../protocol/status.ts'
import { pendingRequests } from '../view/story.ts'
import type { Driver, Ground, Worker } from '../worker/worker.ts'
import { buildConfig, scrubConfig, writeConfig } from './config.ts'
import { Delivery } from './delivery.ts'
import { endWorker } from './end-worker.ts'
import type { Ledger } from './ledger.ts'
import { lifetimeMs, startLifetime, upMs } from './lifetime.ts'
import type { Mailbox, StopIntent } from './mailbox.ts'
import { Monitor } from './monitor.ts'
import { decide, type Ending, REQUESTS_WITHDRAWN, type RunEnd, type StopRequest } from './outcome.ts'
import { acceptAnswer, acceptMessage, askMessageTypes } from './questions.ts'
import { ResolverCalls } from './resolver-calls.ts'

const RETRY_MS = 250

export interface HostParts {
  ledger: Ledger
  mailbox: Mailbox
  driver: Driver
  epoch: number
  /** Whether this host is still the owner; asked now and then. */
  stillOwns: () => boolean
  /** Lets go of the ownership. */
  letGo: () => void
}

/** Ends a wait because the story cannot go on as it was. */
type Interruption = 'ended' | 'stopped' | 'released'

export class InstanceHost {
  readonly #parts: HostParts
  #ground: Ground | undefined
  #worker: Worker | undefined
  #calls: ResolverCalls | undefined
  #monitor: Monitor | undefined
  #delivery: Delivery | undefined
  #config: InstanceConfig | undefined
  #stop: StopRequest | undefined
  #fault: RunEnd['exit'] | undefined
  #released = false
  #stopLifetime: () => void = () => {}
  #interrupt: (why: Interruption) => void = () => {}
  #runEnded: (end: RunEnd) => void = () => {}
  #graceTimer: NodeJS.Timeout | undefined

  constructor(parts: HostParts) {
    this.#parts = parts
  }

  get ledger(): Ledger {
    return this.#parts.ledger
  }

  /** Lives the instance until it ends or pauses, or until {@link release}. Never throws for what a resolver does. */
  async live(): Promise<void> {
    const { ledger } = this.#parts
    try {
      if (!isTerminal(ledger.status) && ledger.status !== 'paused') await this.#live()
    } finally {
      this.#close()
    }
  }

  /** Lets go of the instance without touching its worker, for another host to adopt. */
  release(): void {
    if (this.#released) return
    this.#released = true
    this.#interrupt('released')
    this.#close()
  }

  async #live(): Promise<void> {
    const { driver, ledger } = this.#parts
    this.#ground = driver.openGround()
    this.#stop = this.#stopAskedBefore()
    if (ledger.status === 'created') await this.#patiently(() => ledger.move('starting'))
    const worker = await this.#reachWorker()
    if (worker === undefined || this.#released) return
    this.#attach(worker)
    if (!(await this.#initialize(worker))) return
    const end = await this.#run(worker)
    if (end !== undefined) await this.#settle(worker, end)
  }

  // --- start ---------------------------------------------------------------------------------------------------------

  /** The worker of the wanted incarnation: the one that is there, or a new one. */
  async #reachWorker(): Promise<Worker | undefined> {
    const { driver, ledger } = this.#parts
    const ground = this.#ground as Ground
    const { incarnation, wantedIncarnation } = ledger.story
    const worker = await driver.adopt(ground, wantedIncarnation)
    if (worker !== undefined) {
      if (incarnation < wantedIncarnation) await this.#noteLaunch(wantedIncarnation)
      await this.#patiently(() => ledger.record('platform.worker.adopted', { epoch: this.#parts.epoch }))
      return worker
    }
    if (this.#stop !== undefined && ledger.status === 'starting') {
      await this.#finish({ status: 'cancelled', reason: this.#stop.reason, output: null, error: null })
      return undefined
    }
    if (incarnation < wantedIncarnation) return await this.#launch(wantedIncarnation)
    await driver.sweep()
    await this.#fail('worker_exited', 'The worker is gone and left no trace.')
    return undefined
  }

  async #launch(incarnation: number): Promise<Worker | undefined> {
    const { driver, ledger } = this.#parts
    const { birth } = ledger.story
    const ground = this.#ground as Ground
    try {
      ground.remove(STATUS_FILE)
      writeConfig(ground, this.#buildConfig())
      const worker = await driver.start(ground, {
        command: birth.resolver.manifest.command,
        directory: birth.resolver.dir,
        environment: birth.environment,
        incarnation,
      })
      await this.#noteLaunch(incarnation)
      return worker
    } catch (error) {
      if (!(error instanceof ResolveError)) throw error
      await this.#patiently(() => ledger.record('platform.worker.failed', { cause: error.code, error: error.message }))
      await this.#fail(error.code, error.message)
      return undefined
    }
  }

  async #noteLaunch(incarnation: number): Promise<void> {
    const { ledger } = this.#parts
    const executor = ledger.story.birth.executor
    const data = { incarnation, executor, events_offset: ledger.sourceEnd }
    await this.#patiently(() => ledger.record('platform.worker.launched', data))
  }

  #attach(worker: Worker): void {
    const { ledger, mailbox, epoch } = this.#parts
    const ground = this.#ground as Ground
    this.#worker = worker
    this.#calls = new ResolverCalls(worker.channel, {
      epoch,
      onEvent: () => this.#monitor?.look(),
      onFinished: () => this.#checkEnd(),
      onProtocolError: (detail) => this.#breakOff({ code: 'protocol_error', detail }),
    })
    this.#delivery = new Delivery({ ledger, ground, mailbox }, this.#calls)
    this.#monitor = new Monitor(ground, ledger, {
      onLook: (swept) => this.#look(swept),
      onRefused: (id, errors) => this.#calls?.refuse(id, errors),
    })
    void worker.ended.then(() => {
      this.#interrupt('ended')
      this.#checkEnd()
    })
    this.#stopLifetime = startLifetime(
      lifetimeMs(),
      upMs(ledger.story, Date.now()),
      (used) => this.#warn({ kind: 'lifetime', value: used, limit: lifetimeMs() }),
      () => this.#stopBecauseOfLifetime(),
    )
  }

  /** False where the story ended here. Repeated by an adopting host, which a resolver takes calmly (R42). */
  async #initialize(worker: Worker): Promise<boolean> {
    const { ledger } = this.#parts
    const calls = this.#calls as ResolverCalls
    const ready = calls.call('resolver.initialize', { config: this.#buildConfig() })
    if (ledger.status !== 'starting' && this.#parts.mailbox.hasRun(worker.incarnation)) {
      // It was ready before: an adopted worker may be too busy to say so again.
      ready.catch(() => {})
      return true
    }
    const interrupted = new Promise<Interruption>((resolve) => {
      this.#interrupt = resolve
    })
    if (this.#stop !== undefined && ledger.status === 'starting') this.#interrupt('stopped')
    const came = await Promise.race([
      ready.then(
        () => 'ready' as const,
        (error: unknown) => error,
      ),
      interrupted,
    ])
    this.#interrupt = () => {}
    if (came === 'released') return false
    // It was let run before: whatever it left behind decides, as at any end of a run.
    if (came === 'ended' && ledger.status !== 'starting' && this.#stop === undefined) return true
    if (came === 'ready') {
      await this.#patiently(() => {
        ledger.record('platform.worker.ready', { incarnation: worker.incarnation })
        if (ledger.status === 'starting') ledger.move('running')
      })
      return !this.#released
    }
    await this.#parts.driver.sweep()
    if (came === 'stopped' || this.#stop !== undefined) {
      const reason = this.#stop?.reason ?? 'stopped'
      await this.#finish({ status: 'cancelled', reason, output: null, error: null })
      return false
    }
    const detail = came === 'ended' ? this.#exitDetail('before it was ready') : messageOf(came)
    await this.#patiently(() => ledger.record('platform.worker.failed', { cause: 'initialize', error: detail }))
    await this.#fail(came === 'ended' ? 'worker_exited' : 'initialize_failed', detail)
    return false
  }

  // --- run -----------------------------------------------------------------------------------------------------------

  /** undefined where the instance was released. */
  async #run(worker: Worker): Promise<RunEnd | undefined> {
    const { ledger, mailbox } = this.#parts
    const { incarnation } = worker
    const ended = new Promise<RunEnd | 'released'>((resolve) => {
      this.#runEnded = resolve
      this.#interrupt = (why) => {
        if (why === 'released') resolve('released')
      }
    })
    if (!mailbox.hasRun(incarnation)) {
      const calls = this.#calls as ResolverCalls
      calls.call('resolver.run', { resume: incarnation > 1 }).then(
        () => mailbox.markRun(incarnation),
        (error: unknown) => {
          if (error instanceof ResolveError && error.code === 'resolver_refused') {
            this.#breakOff({ code: 'worker_exited', detail: error.message })
          }
        },
      )
    }
    ledger.reconcile()
    this.#monitor?.start()
    this.#delivery?.deliverAll()
    if (this.#stop !== undefined) void this.#carryOutStop(this.#stop)
    if (worker.condition.engine !== 'running') this.#checkEnd()
    const end = await ended
    return end === 'released' ? undefined : end
  }

  #look(swept: boolean): void {
    if (swept && !this.#parts.stillOwns()) this.release()
    else this.#checkEnd()
  }

  /** R21: the result in `status.json`, then `resolver:completed`, then the end of the process. */
  #checkEnd(): void {
    if (this.#released || this.#worker === undefined) return
    const { completion } = this.#parts.ledger.story
    const result = this.#readResult()
    const exit = this.#fault ?? { code: 'worker_exited' as const, detail: '' }
    if (result !== null || this.#fault !== undefined) {
      this.#runEnded({ result, completion, exit })
      return
    }
    if (this.#worker.condition.engine !== 'running') {
      this.#monitor?.finish()
      this.#runEnded({
        result: this.#readResult(),
        completion: this.#parts.ledger.story.completion,
        exit: { ...exit, detail: this.#exitDetail('without a result') },
      })
      return
    }
    if (completion === null) return
    // The result may be a moment behind its event.
    this.#graceTimer ??= setTimeout(() => {
      this.#runEnded({ result: this.#readResult(), completion: this.#parts.ledger.story.completion, exit })
    }, OUTCOME_GRACE_MS).unref()
  }

  #breakOff(fault: RunEnd['exit']): void {
    this.#fault ??= fault
    this.#interrupt('ended')
    this.#checkEnd()
  }

  // --- settle --------------------------------------------------------------------------------------------------------

  async #settle(worker: Worker, end: RunEnd): Promise<void> {
    const { ledger, driver } = this.#parts
    clearTimeout(this.#graceTimer)
    this.#stopLifetime()
    await endWorker(worker, driver, () => this.#calls?.shutdown())
    if (this.#released) return
    this.#monitor?.finish()
    const completion = ledger.story.completion ?? end.completion
    await this.#finish(
      decide({ ...end, completion }, this.#stop, ledger.story.birth.resolver.manifest.supports_resume === true),
    )
  }

  async #finish(ending: Ending): Promise<void> {
    const { ledger, mailbox } = this.#parts
    const withdrawn = pendingRequests(ledger.story).map((request) => request.id)
    const { status, reason, output, error } = ending
    await this.#patiently(() => {
      if (ledger.status === 'awaiting_input' && status !== 'cancelled')
        ledger.move('running', { reason: REQUESTS_WITHDRAWN })
      ledger.move(status, { ...(reason === undefined ? {} : { reason }), output, error })
    })
    mailbox.clearStop()
    try {
      // A withdrawn request may be asked again after a resume, under its name.
      for (const id of withdrawn) this.#ground?.remove(requestFile(id))
      if (isTerminal(status)) scrubConfig(this.#ground as Ground, this.#buildConfig())
    } catch (tampering) {
      if (!(tampering instanceof ResolveError)) throw tampering
    }
  }

  async #fail(code: string, detail: string): Promise<void> {
    await this.#finish({ status: 'failed', output: null, error: { code, detail } })
  }

  // --- what consumers ask --------------------------------------------------------------------------------------------

  answer(requestId: string, payload: Payload, actor: Actor): void {
    const { ledger, mailbox } = this.#parts
    const ground = this.#ground ?? this.#parts.driver.openGround()
    acceptAnswer({ ledger, mailbox, ground }, requestId, payload, actor)
    this.#delivery?.deliverAll()
  }

  async messageTypes(): Promise<MessageType[]> {
    return await askMessageTypes(this.#desk('list the message types of'), this.#calls as ResolverCalls)
  }

  async message(type: string, payload: Payload, actor: Actor): Promise<number> {
    const types = await this.messageTypes()
    const number = acceptMessage(this.#desk('send a message to'), types, type, payload, actor)
    this.#delivery?.deliverAll()
    return number
  }

  #desk(action: string): { ledger: Ledger; mailbox: Mailbox; ground: Ground } {
    const { ledger, mailbox } = this.#parts
    const isUp = (ledger.status === 'running' || ledger.status === 'awaiting_input') && this.#calls !== undefined
    if (!isUp) throw fail('invalid_state', { action, status: ledger.status })
    return { ledger, mailbox, ground: this.#ground as Ground }
  }

  /** Legal in every status that is not final (R20). On disk when this returns. */
  stop(how: 'stop' | 'cancel', reason: string, force: boolean): void {
    const { ledger, mailbox } = this.#parts
    if (isTerminal(ledger.status)) throw fail('invalid_state', { action: how, status: ledger.status })
    const isSameAgain = this.#stop !== undefined && this.#stop.kind !== 'pause' && !force
    if (isSameAgain) return
    mailbox.keepStop(this.#intent(how, reason, force))
    if (ledger.status === 'paused') {
      ledger.move('cancelled', { reason, output: ledger.story.output, error: null })
      mailbox.clearStop()
      return
    }
    this.#stop = { kind: how, reason, forced: force }
    this.#interrupt('stopped')
    if (hasWorker(ledger.status)) void this.#carryOutStop(this.#stop)
  }

  /** R24. Throws `resume_unsupported`, `invalid_state`. */
  pause(): void {
    const { ledger, mailbox } = this.#parts
    const { resolver } = ledger.story.birth
    if (resolver.manifest.supports_resume !== true) throw fail('resume_unsupported', { resolver: resolver.name })
    if (ledger.status !== 'running' && ledger.status !== 'awaiting_input') {
      throw fail('invalid_state', { action: 'pause', status: ledger.status })
    }
    if (this.#stop !== undefined) {
      if (this.#stop.kind === 'pause') return
      throw fail('invalid_state', { action: 'pause', status: 'being stopped' })
    }
    mailbox.keepStop(this.#intent('pause', PAUSE_REASON, false))
    this.#stop = { kind: 'pause', reason: PAUSE_REASON, forced: false }
    void this.#carryOutStop(this.#stop)
  }

  #intent(how: StopIntent['how'], reason: string, force: boolean): StopIntent {
    const incarnation = this.#parts.ledger.story.wantedIncarnation
    return { kind: 'stop', how, reason, force, incarnation, at: new Date().toISOString() }
  }

  #stopAskedBefore(): StopRequest | undefined {
    const intent = this.#parts.mailbox.readStop()
    if (intent?.incarnation !== this.#parts.ledger.story.wantedIncarnation) return undefined
    return { kind: intent.how, reason: intent.reason, forced: intent.force }
  }

  /** The stop protocol (spec, Rules 3; R26): ask, wait, then SIGTERM, then SIGKILL. A pause only asks. */
  async #carryOutStop(stop: StopRequest): Promise<void> {
    const { driver } = this.#parts
    const worker = this.#worker
    if (worker === undefined || this.#calls === undefined) return
    if (!stop.forced) {
      this.#calls.call('resolver.stop', { reason: stop.reason }).catch(() => {})
      await Promise.race([worker.ended, sleep(STOP_LIMIT_MS, undefined, { ref: false })])
      if (this.#released || this.#stop !== stop || worker.condition.engine !== 'running') return
      if (stop.kind === 'pause') {
        this.#warn({ kind: 'pause_ignored', value: STOP_LIMIT_MS, limit: STOP_LIMIT_MS })
        this.#parts.mailbox.clearStop()
        this.#stop = undefined
        return
      }
      stop.forced = true
      worker.signal('SIGTERM')
      await Promise.race([worker.ended, sleep(TERM_LIMIT_MS, undefined, { ref: false })])
      if (this.#released) return
    }
    await driver.sweep()
  }

  #stopBecauseOfLifetime(): void {
    if (this.#stop !== undefined && this.#stop.kind !== 'pause') return
    this.#stop = { kind: 'lifetime', reason: LIFETIME_REASON, forced: false }
    this.#interrupt('stopped')
    void this.#carryOutStop(this.#stop)
  }

  // --- small things --------------------------------------------------------------------------------------------------

  #warn(data: { kind: string; value: number; limit: number }): void {
    try {
      this.#parts.ledger.record('platform.watchdog.warning', data)
    } catch {
      // A warning that finds no room is not worth more than the run.
    }
  }

  #buildConfig(): InstanceConfig {
    this.#config ??= buildConfig(this.#parts.ledger.story.birth, this.#ground as Ground)
    return this.#config
  }

  #readResult(): ResolverResult | null {
    try {
      const bytes = this.#ground?.read(STATUS_FILE, COORDINATION_FILE_MAX_BYTES)
      return bytes === undefined ? null : parseResult(JSON.parse(bytes.toString('utf8')))
    } catch {
      return null
    }
  }

  #exitDetail(when: string): string {
    const { exitCode, signal } = (this.#worker as Worker).condition
    const how = signal !== null ? `on ${signal}` : exitCode !== null ? `with exit code ${exitCode}` : ''
    const tail = this.#parts.driver.stderrTail(2_000).trim().split('\n').slice(-3).join('\n')
    return [`The worker ended ${[how, when].filter(Boolean).join(' ')}.`, tail].filter(Boolean).join('\n')
  }

  /** Repeats what a full disk refuses until there is room: a run must not be lost because of it. */
  async #patiently(write: () => void): Promise<void> {
    for (;;) {
      try {
        write()
        return
      } catch (error) {
        if (!(error instanceof ResolveError) || error.code !== 'disk_full') throw error
        await sleep(RETRY_MS)
        if (this.#released) return
      }
    }
  }

  #close(): void {
    clearTimeout(this.#graceTimer)
    this.#stopLifetime()
    this.#monitor?.close()
    this.#worker?.release()
    this.#ground?.close()
    this.#ground = undefined
    this.#parts.ledger.close()
    this.#parts.letGo()
  }
}

/** A result, or null for a mere checkpoint of the resolver (spec, `.resolve/status.json`). */
function parseResult(value: unknown): ResolverResult | null {
  if (typeof value !== 'object' || value === null || !('status' in value)) return null
  const { status, output, error } = value as Record<string, unknown>
  if (!(RESULT_STATUSES as readonly unknown[]).includes(status)) return null
  return {
    status: status as ResolverResult['status'],
    output: typeof output === 'string' ? output : null,
    error: typeof error === 'string' ? error : null,
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
