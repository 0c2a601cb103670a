/**
 * Hosts one instance from wherever its journal stands: launch → get ready → run → settle. Any process can continue it from there
 * (architecture, decision 2); {@link file://./../process/host-process.ts} keeps the hosts of this process.
 */
import { passesWithTime, ResolveError } from '../../errors.ts'
import { failpoint } from '../../failpoints.ts'
import type { Payload } from '../../protocol/form.ts'
import type { Actor, InstanceConfig, MessageType } from '../../protocol/instance.ts'
import { WORKER_LOST } from '../../protocol/methods.ts'
import { hasWorker, isTerminal } from '../../protocol/status.ts'
import { secretsOf } from '../../redaction/config-secrets.ts'
import { knownSecrets } from '../../secrets/secret-store.ts'
import { type CoordinationDirectory, HANDED_OVER, type Worker } from '../../worker/worker.ts'
import { secretsInCoordination } from '../ingest/secrets.ts'
import { buildConfig, bundlesOn, withBundles, withGitServer, withWorkspace } from '../launch/config.ts'
import { completeConfig } from '../launch/given-secrets.ts'
import { SealedPayloads } from '../launch/sealed-payloads.ts'
import type { Ledger, Naming, News } from '../ledger/ledger.ts'
import { retryWhile, retryWhileDiskFull } from '../ledger/retry-while-disk-full.ts'
import { HostUpstream } from '../promotion/host-upstream.ts'
import type { RequestContext } from '../requests/accept.ts'
import { Delivery } from '../requests/delivery.ts'
import { SentFiles, textsInSent } from '../requests/publish.ts'
import { RequestApi } from '../requests/request-api.ts'
import { InstanceResources } from '../resources/instance-resources.ts'
import { checkAfterSetup } from './check-after-setup.ts'
import { cleanUp, tryAll } from './clean-up.ts'
import { endWorker } from './end-worker.ts'
import type { HostParts } from './host-parts.ts'
import { type HostState, type Interruption, requireLegalMove } from './host-state.ts'
import { failedToBegin, reachWorker, supportsResume } from './launch.ts'
import {
  decide,
  type Ending,
  type EndingOf,
  orEndedBeforeRun,
  orEndedWithoutWorker,
  PAUSED_AGAIN,
  REQUESTS_WITHDRAWN,
  type RunEnd,
} from './outcome.ts'
import { hasCheckpoint } from './run-result.ts'
import { letRun, RunWatch } from './run-watch.ts'
import { Stopping } from './stopping.ts'
import { openCoordination } from './unusable-coordination.ts'
import { type SessionEvent, WorkerSession } from './worker-session.ts'

export class InstanceHost {
  readonly #parts: HostParts
  readonly #coordination: CoordinationDirectory
  #config: InstanceConfig
  readonly #sealed: SealedPayloads
  readonly #stopping: Stopping
  readonly #resources: InstanceResources
  readonly #requests: RequestContext
  readonly #requestApi: RequestApi
  readonly #upstream: HostUpstream
  #state: HostState = { name: 'idle' }

  constructor(parts: HostParts) {
    const { ledger, driver } = parts
    this.#parts = parts
    this.#coordination = openCoordination(driver)
    const { creation, spending } = ledger.story
    this.#sealed = new SealedPayloads(parts.home, ledger)
    const credentials = knownSecrets(parts.home, creation.resolver.manifest.secrets)
    this.#config = buildConfig(creation, this.#coordination, { credentials, input: this.#sealed.input }, spending)
    ledger.hide([...secretsOf(this.#config), ...secretsInCoordination(this.#coordination), ...this.#sealed.texts])
    const upstream = { home: parts.home, ledger, tell: (news: News) => this.tell(news), warn: this.#warn }
    this.#upstream = new HostUpstream(upstream)
    this.#resources = new InstanceResources({
      ...parts,
      token: this.#config.sub_container_token,
      write: this.#write,
      promote: (repo, body) => this.#upstream.promoteForWorker(repo, body),
    })
    if (this.#sealed.problem !== undefined) ledger.hide(this.#textsSent())
    const files = new SentFiles(this.#coordination)
    this.#requests = { ledger, coordination: this.#coordination, files, sealed: this.#sealed }
    this.#requestApi = new RequestApi(this.#requests, () => this.#deliver())
    this.#stopping = new Stopping(ledger, driver)
  }

  /** Without the key of the home, only the files of the worker have these texts: they must be known to be redacted. */
  #textsSent(): string[] {
    const { ledger } = this.#parts
    return ledger.inbox.all().flatMap((kept) => textsInSent(this.#coordination, kept, () => ledger.payloadOf(kept)))
  }

  get ledger(): Ledger {
    return this.#parts.ledger
  }

  /** Returns when the instance has ended or paused, or was released. Never throws because of what a resolver does. */
  async live(): Promise<void> {
    const { status } = this.#parts.ledger
    try {
      if (!isTerminal(status) && status !== 'paused') {
        this.#upstream.finishPromotions()
        this.#takeKeptStop()
        await this.#live()
      }
    } finally {
      this.release()
    }
  }

  /** Disconnects from the instance without touching its worker, so that another host can adopt it. */
  release(): void {
    const before = this.#state
    if (!this.#enter({ name: 'released' })) return
    if (before.name === 'queued') before.wait.abort()
    if (before.name === 'launching') before.launch.abort(HANDED_OVER)
    this.#upstream.release()
    this.#requestApi.close()
    if (before.name === 'getting-ready') before.interrupt('released')
    const { ledger, release } = this.#parts
    tryAll(
      () => before.name === 'running' && before.runWatch.release(),
      () => this.#resources.close(),
      () => sessionOf(before)?.close(),
      () => this.#coordination.close(),
      () => ledger.close(),
      release,
    )
  }

  // The state

  /**
   * The only method that changes the state. False where the host is released, which may happen during any wait: then the caller
   * returns. Throws `bug` for a move that is not legal.
   */
  #enter(next: HostState): boolean {
    if (this.#isReleased) return false
    requireLegalMove(this.#state.name, next.name)
    this.#state = next
    return true
  }

  get #isReleased(): boolean {
    return this.#state.name === 'released'
  }

  /** The machine failed this host, for example with an I/O error. The next host may succeed, in this process or another. */
  #giveUp(error: unknown): void {
    if (this.#isReleased) return
    this.#warn(error)
    this.release()
  }

  async #live(): Promise<void> {
    const { incarnation, wantedIncarnation } = this.#parts.ledger.story
    const launched = await this.#launch()
    if (launched === undefined) return
    if (incarnation > 0 && incarnation < wantedIncarnation) this.#upstream.refresh(this.#config.git_provider.token)
    const session = await this.#getReady(launched)
    if (session === undefined) return
    const end = await this.#run(session)
    if (end !== 'released') await this.#settle(session, end)
  }

  // Launch

  /** The worker, adopted or new; undefined where the instance ended without one, or the host was released. */
  async #launch(): Promise<Worker | undefined> {
    const { ledger } = this.#parts
    if (!(await this.#takeTurn())) return undefined
    const launch = new AbortController()
    if (!this.#enter({ name: 'launching', launch })) return undefined
    if (ledger.status === 'created') await this.#write(() => ledger.move('starting'))
    if (this.#stopping.isToEnd && ledger.story.incarnation < ledger.story.wantedIncarnation) launch.abort()
    const isReleased = () => this.#isReleased
    const reached =
      (await this.#completeSecrets(launch.signal)) ??
      (await reachWorker({ ...this.#held, signal: launch.signal, isReleased }))
    if (!('status' in reached)) return reached
    if (this.#enter({ name: 'ending-before-run', session: undefined }))
      await this.#finish(orEndedWithoutWorker(reached))
    return undefined
  }

  /** Undefined where the config is complete; else why there can be no worker. */
  async #completeSecrets(signal: AbortSignal): Promise<Ending | undefined> {
    const { home, ledger, driver, epoch } = this.#parts
    const { creation, incarnation, wantedIncarnation } = ledger.story
    try {
      if (this.#sealed.problem !== undefined) throw this.#sealed.problem
      await this.#write(() => this.#sealed.list())
      const config = await completeConfig({
        home,
        creation,
        coordination: this.#coordination,
        config: this.#config,
        signal,
      })
      if (this.#isReleased) return undefined
      this.#config = config
      ledger.hide(secretsOf(config))
      if (incarnation > 0 && incarnation < wantedIncarnation) {
        await this.#write(() => Delivery.restoreScrubbed(this.#requests))
      }
      return undefined
    } catch (error) {
      if (!(error instanceof ResolveError)) throw error
      // The caller that stopped the launch knows the reason.
      if (signal.aborted || error.code === 'coordination_tampered') return undefined
      // An earlier host's worker must not outlive the instance, nor write secrets into files that are redacted now.
      if (epoch > 1) await driver.sweep()
      if (this.#isReleased) return undefined
      await this.#write(() => ledger.record('platform.worker.failed', { cause: error.code, error: error.message }))
      return { status: 'failed', output: null, error: { code: error.code, detail: error.message } }
    }
  }

  /** The input becomes part of the config only here, where it is checked after the setup (R48). */
  async #check(signal: AbortSignal): Promise<InstanceConfig> {
    const { home, ledger } = this.#parts
    await checkAfterSetup({ home, ledger, sealed: this.#sealed, write: this.#write, signal })
    const { input, secret_fields = [] } = ledger.story.creation
    this.#config = { ...this.#config, params: { ...input, ...this.#sealed.input }, secret_fields }
    return this.#config
  }

  /** False where the instance was stopped or paused while it waited, or the host was released (R70). */
  async #takeTurn(): Promise<boolean> {
    const { ledger, queue } = this.#parts
    const { status, incarnation, wantedIncarnation, turn } = ledger.story
    const isResumed = status === 'running' && turn !== wantedIncarnation
    const needsTurn = incarnation < wantedIncarnation && (status === 'created' || isResumed)
    if (!needsTurn || !queue.isBounded(ledger)) return true
    const wait = new AbortController()
    if (!this.#enter({ name: 'queued', wait })) return false
    if (this.#stopping.request !== undefined) wait.abort()
    await queue.take(ledger, wait.signal)
    if (this.#isReleased) return false
    if (!wait.signal.aborted) return true
    if (this.#enter({ name: 'ending-before-run', session: undefined }))
      await this.#finish(orEndedWithoutWorker(PAUSED_AGAIN))
    return false
  }

  // Get ready

  /** The session of a worker that is ready; undefined where the instance ended instead, or the host was released. */
  async #getReady(worker: Worker): Promise<WorkerSession | undefined> {
    if (this.#isReleased) {
      worker.release()
      return undefined
    }
    const { ledger, epoch } = this.#parts
    const session = this.#openSession(worker)
    const { promise: interrupted, resolve: interrupt } = Promise.withResolvers<Interruption>()
    this.#enter({ name: 'getting-ready', session, interrupt })
    this.#requestApi.open(session.calls)
    // An adopting host calls it again; a resolver must accept that (R42).
    const ready = session.calls.call('resolver.initialize', {
      config: withGitServer(
        withBundles(withWorkspace(this.#config, ledger.story.repos, this.#coordination), bundlesOn(this.#coordination)),
        this.#resources.git.access,
      ),
      epoch,
    })
    if (ledger.status !== 'starting' && ledger.inbox.hasRun(worker.incarnation)) {
      // It was ready before. An adopted worker may be too busy to answer now.
      ready.catch(() => {})
      return session
    }
    if (this.#stopping.isToEnd) interrupt('stopped')
    const answered = ready.then(() => 'ready' as const).catch((error: unknown) => error)
    const came = await Promise.race([answered, interrupted])
    if (this.#isReleased) return undefined
    // It was told to run before and has ended since. Its result decides, as at the end of any run.
    if (came === 'ended' && ledger.status !== 'starting' && !this.#stopping.isToEnd) return session
    if (came !== 'ready') {
      await this.#endBeforeRun(session, came)
      return undefined
    }
    failpoint('ready.answered')
    await this.#write(() => {
      ledger.record('platform.worker.ready', { incarnation: worker.incarnation })
      if (ledger.status === 'starting') ledger.move('running')
    })
    failpoint('ready.noted')
    return session
  }

  #openSession(worker: Worker): WorkerSession {
    const { ledger, epoch, watchdogMs, log } = this.#parts
    const parts = {
      ledger,
      log,
      coordination: this.#coordination,
      epoch,
      requests: this.#requests,
      sandboxes: this.#resources.sandboxes,
      checks: this.#resources.checks,
      helper: { token: this.#config.sub_container_token, place: () => this.#placeOfHelper },
      write: this.#write,
      watchdogMs,
    }
    return WorkerSession.open(worker, parts, (event) => this.#on(event))
  }

  get #placeOfHelper() {
    const { creation } = this.#parts.ledger.story
    const { git } = this.#resources
    const environment = { ...git.environment, ...creation.environment }
    return { directory: creation.resolver.dir, environment, tools: git.tools }
  }

  async #endBeforeRun(session: WorkerSession, came: unknown): Promise<void> {
    const { ledger, driver } = this.#parts
    if (!this.#enter({ name: 'ending-before-run', session })) return
    session.sessions.close()
    await driver.sweep()
    await session.finishLog()
    // An adopted or resumed run may have sent events already, although no earlier host recorded that it was ready.
    if (ledger.status !== 'starting') await this.#finishMonitor(session)
    const held = { ...this.#held, isToEnd: this.#stopping.isToEnd }
    await this.#finish(orEndedBeforeRun(await failedToBegin(held, session.worker, came)))
  }

  // Run

  async #run(session: WorkerSession): Promise<RunEnd | 'released'> {
    const { ledger, driver } = this.#parts
    const { worker, calls, monitor, delivery } = session
    const runWatch = new RunWatch({ ledger, driver, coordination: this.#coordination, worker, monitor })
    if (!this.#enter({ name: 'running', session, runWatch })) return 'released'
    if (!ledger.inbox.hasRun(worker.incarnation)) letRun(calls, ledger, worker.incarnation, runWatch)
    if (ledger.inbox.isOfEarlierBoot) await this.#write(() => delivery.restoreFiles())
    await this.#write(() => delivery.tellAccepted())
    failpoint('run.published')
    await this.#write(() => ledger.reconcile())
    if (this.#isReleased) return 'released'
    monitor.start()
    delivery.deliverAll()
    this.#carryOutRequest()
    if (calls.protocolError !== undefined) this.#breakOff(calls.protocolError)
    if (worker.condition.engine !== 'running') runWatch.check()
    return await runWatch.ended
  }

  // Settle

  async #settle(session: WorkerSession, end: RunEnd): Promise<void> {
    const { ledger, driver } = this.#parts
    if (!this.#enter({ name: 'settling', session })) return
    failpoint('end.known')
    session.endSupervision()
    await session.sessions.end(end.result !== null && end.result.status !== 'paused')
    if (this.#isReleased) return
    await endWorker(session, driver)
    const { escaped = 0 } = session.worker.condition
    if (escaped > 0) session.warn('escaped', escaped, 0)
    failpoint('end.gone')
    if (this.#isReleased) return
    await session.finishLog()
    if (this.#isReleased) return
    await this.#finishMonitor(session)
    failpoint('end.drained')
    const completion = ledger.story.completion ?? end.completion
    const resumability = { supportsResume: supportsResume(ledger), hasCheckpoint: hasCheckpoint(this.#coordination) }
    const { sessions_used } = end.result ?? {}
    const refusal = ledger.budgetRefusal
    await this.#finish((stop) => ({
      ...decide({ ...end, completion, refusal }, stop, resumability),
      ...(sessions_used === undefined ? {} : { sessions_used }),
    }))
  }

  /** `decideEnding` gets the request that is in force when the end is written: requests are accepted until then. */
  async #finish(decideEnding: EndingOf): Promise<void> {
    const { ledger } = this.#parts
    // Before the end is recorded: a reader of the end finds no secret left, even if this host dies in between (R43).
    if (this.#isReleased) return
    await this.#resources.preserveWork(decideEnding(this.#stopping.request).status === 'paused' ? 'pause' : 'end')
    failpoint('end.preserved')
    if (this.#isReleased) return
    await cleanUp(this.#held)
    failpoint('end.cleaned')
    if (this.#isReleased) return
    const { lost } = decideEnding(this.#stopping.request)
    if (lost !== undefined)
      await this.#write(() => ledger.record('platform.worker.failed', { cause: WORKER_LOST, error: lost }))
    if (this.#isReleased) return
    await this.#write(() => {
      const { status, lost: _, ...details } = decideEnding(this.#stopping.request)
      const asks = ledger.status === 'awaiting_input' && status !== 'cancelled'
      // The questions of a lost worker stay open (R58).
      if (asks) ledger.move('running', { reason: details.reason === WORKER_LOST ? WORKER_LOST : REQUESTS_WITHDRAWN })
      if (isTerminal(status)) this.#resources.git.forget()
      ledger.move(status, details)
      failpoint('end.told')
      // In the same turn: otherwise the host could accept a request that no host would carry out.
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
      check: (signal: AbortSignal) => this.#check(signal),
    }
  }

  // What happens to the worker

  #on(event: SessionEvent): void {
    switch (event.type) {
      case 'ownership_lost':
        this.release()
        break
      case 'lifetime_over':
        if (this.#stopping.endLifetime()) this.#takeUpRequest()
        break
      case 'checked':
        if (event.swept && !this.#parts.stillOwns()) {
          this.release()
          break
        }
        if (event.swept) this.#takeKeptStop()
        this.#resources.snapshots.check()
        this.#checkRun()
        break
      case 'run_finished':
        this.#checkRun()
        break
      case 'worker_ended':
        this.#interrupt('ended')
        this.#checkRun()
        break
      case 'protocol_error':
        this.#interrupt('ended')
        this.#breakOff(event.detail)
        break
    }
  }

  #interrupt(why: Interruption): void {
    if (this.#state.name === 'getting-ready') this.#state.interrupt(why)
  }

  #breakOff(detail: string): void {
    if (this.#state.name === 'running') this.#state.runWatch.breakOff({ code: 'protocol_error', detail })
  }

  #checkRun(): void {
    if (this.#state.name === 'running') this.#state.runWatch.check()
  }

  // What consumers send

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
    number.catch((error: unknown) => this.#releaseIfLost(error))
    return await number
  }

  /** On disk when this returns. Throws as {@link Stopping.stop}. */
  stop(how: 'stop' | 'cancel', reason: string, force: boolean): void {
    this.#asOwner(() => this.#stopping.stop(how, reason, force) && this.#takeUpRequest())
    this.#parts.dropKeptStop()
  }

  /** A stop that was kept while no host answered. One for an earlier worker is void: the instance was resumed since. */
  #takeKeptStop(): void {
    const { keptStop, dropKeptStop, ledger } = this.#parts
    const kept = keptStop()
    if (kept === undefined) return
    if (kept.incarnation !== ledger.story.wantedIncarnation) {
      dropKeptStop()
      return
    }
    try {
      this.stop(kept.how, kept.reason, kept.force)
    } catch (error) {
      // The disk is full: the next sweep tries again. Or the instance has ended meanwhile.
      if (!(error instanceof ResolveError)) throw error
    }
  }

  /** On disk when this returns. Throws as {@link Stopping.pause}. */
  pause(): void {
    this.#asOwner(() => this.#stopping.pause() && this.#takeUpRequest())
  }

  /** Writes an event into the journal; false where this host is released. */
  async tell(news: News): Promise<boolean> {
    if (this.#isReleased) return false
    await this.#write(() => this.ledger.tell(news))
    return true
  }

  #warn = (error: unknown): void => process.emitWarning(this.#parts.ledger.redactor.text(String(error)))

  /** On disk when this returns. Throws `disk_full`. */
  rename(naming: Naming): void {
    this.#asOwner(() => this.ledger.rename(naming))
  }

  #asOwner(act: () => unknown): void {
    try {
      act()
    } catch (error) {
      this.#releaseIfLost(error)
      throw error
    }
  }

  /** Another host owns the instance: this one releases it, and the caller asks that one. */
  #releaseIfLost(error: unknown): void {
    if (error instanceof ResolveError && error.code === 'ownership_lost') this.release()
  }

  /** Before its run a resolver gets no answers and messages; then it gets all that wait. */
  #deliver(): void {
    const { name } = this.#state
    if (name === 'running' || name === 'settling') sessionOf(this.#state)?.delivery.deliverAll()
  }

  /** A stop ends a launch, and the wait for a ready worker. A pause waits for the run: only a run can checkpoint. */
  #takeUpRequest(): void {
    if (this.#state.name === 'queued') this.#state.wait.abort()
    if (this.#stopping.isToEnd) {
      if (this.#state.name === 'launching') this.#state.launch.abort()
      this.#interrupt('stopped')
    }
    if (hasWorker(this.ledger.status)) this.#carryOutRequest()
  }

  #carryOutRequest(): void {
    const session = sessionOf(this.#state)
    if (session !== undefined) this.#stopping.carryOut(session).catch((error: unknown) => this.#giveUp(error))
  }

  async #finishMonitor({ monitor }: WorkerSession): Promise<void> {
    await retryWhile(
      passesWithTime,
      () => monitor.finish(),
      () => this.#isReleased,
    )
  }

  #write = (line: () => void): Promise<void> => retryWhileDiskFull(line, () => this.#isReleased)
}

function sessionOf(state: HostState): WorkerSession | undefined {
  return 'session' in state ? state.session : undefined
}
