/**
 * The story of one instance, as its host lives it: start → run → settle, from whatever point the journal stands at.
 * Any process can take it up again from there (architecture, decision 2); {@link file://./../process/host-process.ts} holds the running ones.
 */
import { ResolveError } from '../../errors.ts'
import { failpoint } from '../../failpoints.ts'
import type { Payload } from '../../protocol/form.ts'
import type { Actor, InstanceConfig, MessageType } from '../../protocol/instance.ts'
import { isTerminal } from '../../protocol/status.ts'
import type { CoordinationDirectory, Worker } from '../../worker/worker.ts'
import { Monitor } from '../ingest/monitor.ts'
import { secretsInCoordination, secretsOf } from '../ingest/secrets.ts'
import { buildConfig } from '../launch/config.ts'
import { ResolverCalls } from '../launch/resolver-calls.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { redactorOf } from '../ledger/redact.ts'
import { retryWhileDiskFull } from '../ledger/retry-while-disk-full.ts'
import type { RequestContext } from '../requests/accept.ts'
import { Delivery } from '../requests/delivery.ts'
import { SentFiles } from '../requests/publish.ts'
import { RequestApi } from '../requests/request-api.ts'
import { InstanceResources } from '../resources/instance-resources.ts'
import { cleanUp, tryAll } from './clean-up.ts'
import { endWorker } from './end-worker.ts'
import type { HostParts } from './host-parts.ts'
import { failedToBegin, reachWorker } from './launch.ts'
import { decide, type EndingOf, isToEnd, orEndedBeforeRun, REQUESTS_WITHDRAWN, type RunEnd } from './outcome.ts'
import { letRun, RunWatch } from './run-watch.ts'
import { Stopping } from './stopping.ts'
import { superviseWorker } from './supervision.ts'
import { openCoordination } from './unusable-coordination.ts'

/** Why a wait ended before what it waited for came. */
type Interruption = 'ended' | 'stopped' | 'released'

export class InstanceHost {
  readonly #parts: HostParts
  readonly #coordination: CoordinationDirectory
  readonly #config: InstanceConfig
  readonly #stopping: Stopping
  readonly #resources: InstanceResources
  #worker: Worker | undefined
  #calls: ResolverCalls | undefined
  #monitor: Monitor | undefined
  #delivery: Delivery | undefined
  #runWatch: RunWatch | undefined
  #isClosed = false
  readonly #launch = new AbortController()
  #stopSupervision: () => void = () => {}
  #interrupt: (why: Interruption) => void = () => {}
  readonly #sent: RequestContext
  readonly #requestApi: RequestApi

  constructor(parts: HostParts) {
    const { ledger, driver } = parts
    this.#parts = parts
    this.#coordination = openCoordination(driver)
    this.#config = buildConfig(ledger.story.creation, this.#coordination)
    ledger.hide(redactorOf([...new Set([...secretsOf(this.#config), ...secretsInCoordination(this.#coordination)])]))
    this.#resources = new InstanceResources({ ...parts, token: this.#config.sub_container_token, write: this.#write })
    this.#sent = { ledger, coordination: this.#coordination, files: new SentFiles(this.#coordination) }
    this.#requestApi = new RequestApi(this.#sent, () => this.#deliver())
    this.#stopping = new Stopping({
      ledger,
      driver,
      reach: () => (this.#worker && this.#calls ? { worker: this.#worker, calls: this.#calls } : undefined),
      interrupt: () => this.#interruptLaunch(),
      isReleased: () => this.#isClosed,
      giveUp: (error) => this.#giveUp(error),
      warn: (kind, value, limit) => this.#warn(kind, value, limit),
    })
  }

  get ledger(): Ledger {
    return this.#parts.ledger
  }

  /** Lives the instance until it ends or pauses, or until {@link release}. Never throws for what a resolver does. */
  async live(): Promise<void> {
    const { status } = this.#parts.ledger
    try {
      if (!isTerminal(status) && status !== 'paused') await this.#live()
    } finally {
      this.release()
    }
  }

  /** Lets go of the instance without touching its worker, for another host to adopt. */
  release(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#launch.abort()
    this.#requestApi.close()
    this.#interrupt('released')
    const { ledger, letGo } = this.#parts
    tryAll(
      () => this.#runWatch?.release(),
      () => this.#stopSupervision(),
      () => this.#resources.close(),
      () => this.#delivery?.close(),
      () => this.#monitor?.close(),
      () => this.#worker?.release(),
      () => this.#coordination.close(),
      () => ledger.close(),
      letGo,
    )
  }

  /** A machine in trouble: what this host can't do the next one may, which may be of this process. */
  #giveUp(error: unknown): void {
    if (this.#isClosed) return
    process.emitWarning(this.#parts.ledger.redactor.text(String(error)))
    this.release()
  }

  async #live(): Promise<void> {
    const { ledger } = this.#parts
    if (ledger.status === 'created') await this.#write(() => ledger.move('starting'))
    if (this.#isToEnd() && ledger.story.incarnation < ledger.story.wantedIncarnation) this.#launch.abort()
    const isReleased = () => this.#isClosed
    const worker = await reachWorker({ ...this.#held, signal: this.#launch.signal, isReleased })
    if (this.#isClosed) return 'status' in worker ? undefined : worker.release()
    if ('status' in worker) return await this.#finish(orEndedBeforeRun(worker))
    this.#attach(worker)
    if (!(await this.#becomeReady(worker))) return
    const end = await this.#run(worker)
    if (end !== 'released') await this.#settle(worker, end)
  }

  // Start

  #attach(worker: Worker): void {
    const { ledger, epoch } = this.#parts
    this.#worker = worker
    this.#calls = new ResolverCalls(worker.channel, {
      epoch,
      redactor: ledger.redactor,
      onEvent: () => this.#monitor?.ring(),
      onFinished: () => this.#runWatch?.check(),
      onProtocolError: (detail) => {
        this.#interrupt('ended')
        this.#runWatch?.breakOff({ code: 'protocol_error', detail })
      },
    })
    this.#resources.sandboxes.serve(this.#calls)
    this.#delivery = new Delivery(this.#sent, this.#calls, this.#write)
    this.#requestApi.open(this.#calls)
    this.#monitor = new Monitor(this.#coordination, ledger, {
      onLook: (swept) => this.#look(swept),
      onLost: () => this.release(),
      onRefused: (id, errors) => this.#calls?.refuse(id, errors),
    })
    void worker.ended.then(() => {
      this.#interrupt('ended')
      this.#runWatch?.check()
    })
    this.#stopSupervision = superviseWorker({
      worker,
      story: ledger.story,
      warn: (kind, value, limit) => this.#warn(kind, value, limit),
      onLifetimeOver: () => this.#stopping.endLifetime(),
      watchdogMs: this.#parts.watchdogMs,
    })
  }

  /** False where the story ended here. An adopting host says it again, which a resolver takes calmly (R42). */
  async #becomeReady(worker: Worker): Promise<boolean> {
    const { ledger } = this.#parts
    const calls = this.#calls as ResolverCalls
    const ready = calls.call('resolver.initialize', { config: this.#config, epoch: this.#parts.epoch })
    if (ledger.status !== 'starting' && ledger.inbox.hasRun(worker.incarnation)) {
      // It was ready before: an adopted worker may be too busy to say so again.
      ready.catch(() => {})
      return true
    }
    const interrupted = new Promise<Interruption>((resolve) => {
      this.#interrupt = resolve
    })
    if (this.#isToEnd()) this.#interrupt('stopped')
    const asked = ready.then(() => 'ready' as const).catch((error: unknown) => error)
    const came = await Promise.race([asked, interrupted])
    this.#interrupt = () => {}
    if (came === 'released') return false
    // It was let run before: whatever it left behind decides, as at any end of a run.
    if (came === 'ended' && ledger.status !== 'starting' && !this.#isToEnd()) return true
    if (came !== 'ready') {
      await this.#endBeforeRun(worker, came)
      return false
    }
    failpoint('ready.answered')
    await this.#write(() => {
      ledger.record('platform.worker.ready', { incarnation: worker.incarnation })
      if (ledger.status === 'starting') ledger.move('running')
    })
    failpoint('ready.noted')
    return !this.#isClosed
  }

  async #endBeforeRun(worker: Worker, came: unknown): Promise<void> {
    const { ledger, driver } = this.#parts
    await driver.sweep()
    // An adopted or resumed run may have sent events already, although no earlier host recorded that it was ready.
    if (ledger.status !== 'starting' && !this.#isClosed) this.#monitor?.finish()
    await this.#finish(orEndedBeforeRun(await failedToBegin({ ...this.#held, isToEnd: this.#isToEnd() }, worker, came)))
  }

  // Run

  async #run(worker: Worker): Promise<RunEnd | 'released'> {
    const { ledger, driver } = this.#parts
    const watch = new RunWatch({
      ledger,
      driver,
      coordination: this.#coordination,
      worker,
      drain: () => this.#monitor?.finish(),
    })
    this.#runWatch = watch
    if (!ledger.inbox.hasRun(worker.incarnation))
      letRun(this.#calls as ResolverCalls, ledger, worker.incarnation, watch)
    if (ledger.inbox.isOfEarlierBoot) await this.#write(() => this.#delivery?.restoreFiles())
    await this.#write(() => this.#delivery?.tellAccepted())
    failpoint('run.published')
    await this.#write(() => ledger.reconcile())
    this.#monitor?.start()
    this.#delivery?.deliverAll()
    if (this.#stopping.request !== undefined) this.#stopping.begin()
    const tooMuch = this.#calls?.protocolError
    if (tooMuch !== undefined) watch.breakOff({ code: 'protocol_error', detail: tooMuch })
    if (worker.condition.engine !== 'running') watch.check()
    return await watch.ended
  }

  #look(swept: boolean): void {
    if (swept && !this.#parts.stillOwns()) this.release()
    else this.#runWatch?.check()
  }

  // Settle

  async #settle(worker: Worker, end: RunEnd): Promise<void> {
    const { ledger, driver } = this.#parts
    failpoint('end.known')
    this.#stopSupervision()
    await endWorker(worker, driver, () => this.#calls?.shutdown())
    const { escaped = 0 } = worker.condition
    if (escaped > 0) this.#warn('escaped', escaped, 0)
    failpoint('end.gone')
    if (this.#isClosed) return
    this.#monitor?.finish()
    failpoint('end.drained')
    const completion = ledger.story.completion ?? end.completion
    const supportsResume = ledger.story.creation.resolver.manifest.supports_resume === true
    await this.#finish((stop) => decide({ ...end, completion }, stop, supportsResume))
  }

  /** `decideEnding` is told what is asked of the run at the very end: what was accepted until then counts. */
  async #finish(decideEnding: EndingOf): Promise<void> {
    const { ledger } = this.#parts
    // Before the end is recorded: a reader of the end finds no secret left, even if this host dies in between (R43).
    await cleanUp(this.#held)
    failpoint('end.tidied')
    if (this.#isClosed) return
    await this.#write(() => {
      const { status, reason, output, error } = decideEnding(this.#stopping.request)
      const asks = ledger.status === 'awaiting_input' && status !== 'cancelled'
      if (asks) ledger.move('running', { reason: REQUESTS_WITHDRAWN })
      ledger.move(status, { ...(reason === undefined ? {} : { reason }), output, error })
      failpoint('end.told')
      // In the same turn: nothing more is accepted that no host would carry out.
      this.release()
    })
  }

  get #held() {
    return {
      ...this.#parts,
      coordination: this.#coordination,
      config: this.#config,
      resources: this.#resources,
      write: this.#write,
    }
  }

  /** A pause is asked of a run, which can checkpoint; nothing else waits for one. */
  #interruptLaunch(): void {
    if (!this.#isToEnd()) return
    this.#launch.abort()
    this.#interrupt('stopped')
  }

  #isToEnd(): boolean {
    return isToEnd(this.#stopping.request)
  }

  // What consumers ask

  /** On disk when this returns. Throws as {@link RequestApi.answer}. */
  answer(requestId: string, payload: Payload, actor: Actor): void {
    this.#asOwner(() => this.#requestApi.answer(requestId, payload, actor))
  }

  async messageTypes(): Promise<MessageType[]> {
    return await this.#requestApi.messageTypes()
  }

  /** The number the message got; on disk when this returns. Throws as {@link RequestApi.message}. */
  async message(type: string, payload: Payload, actor: Actor): Promise<number> {
    const number = this.#requestApi.message(type, payload, actor)
    number.catch((error: unknown) => this.#letGoIfLost(error))
    return await number
  }

  stop(how: 'stop' | 'cancel', reason: string, force: boolean): void {
    this.#asOwner(() => this.#stopping.stop(how, reason, force))
  }

  /** On disk when this returns. Throws `disk_full`. */
  rename(name: string | null): void {
    this.#asOwner(() => this.ledger.rename(name))
  }

  pause(): void {
    this.#asOwner(() => this.#stopping.pause())
  }

  #asOwner(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.#letGoIfLost(error)
      throw error
    }
  }

  /** Another host owns the instance: this one lets go, and the caller asks that one. */
  #letGoIfLost(error: unknown): void {
    if (error instanceof ResolveError && error.code === 'ownership_lost') this.release()
  }

  /** Before its run a resolver is told nothing; then all that waits. */
  #deliver(): void {
    if (this.#runWatch !== undefined) this.#delivery?.deliverAll()
  }

  #warn(kind: string, value: number, limit: number): void {
    const data = { kind, value, limit }
    this.#write(() => this.#parts.ledger.record('platform.watchdog.warning', data)).catch(() => {})
  }

  #write = (line: () => void): Promise<void> => retryWhileDiskFull(line, () => this.#isClosed)
}
