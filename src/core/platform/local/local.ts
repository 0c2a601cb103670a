/** The platform on this machine's home directory: what every command talks to (R39). */
import type { Catalog } from '../../catalog/catalog.ts'
import { fail, ResolveError } from '../../errors.ts'
import {
  listData,
  readStderrTail,
  readTranscript,
  readTranscriptSizes,
  requireSecretTexts,
} from '../../host/ingest/instance-files.ts'
import { Inquiries } from '../../host/inquiry/inquiries.ts'
import type { Inquiry } from '../../host/inquiry/inquiry.ts'
import { Preparations } from '../../host/inquiry/preparations.ts'
import type { OnConnection } from '../../host/process/control-socket.ts'
import { prepareLaunch } from '../../host/process/drivers.ts'
import { HostProcess } from '../../host/process/host-process.ts'
import { hasHost, hostState, startBackgroundHost } from '../../host/process/reach.ts'
import { NotifySender } from '../../notify/sender.ts'
import { type CatalogEntry, isUpload } from '../../protocol/catalog.ts'
import type { Form, FormCheck, Payload } from '../../protocol/form.ts'
import {
  type Actor,
  budgetIn,
  type DataFile,
  type InputRequest,
  type InstanceRecord,
  type MessageType,
  type RequestStatus,
  type SentMessage,
  type StatusCounts,
  withLabels,
} from '../../protocol/instance.ts'
import type { JournalEvent } from '../../protocol/journal.ts'
import type { LogPage } from '../../protocol/log.ts'
import { nameTakenOver } from '../../protocol/names.ts'
import type { SessionSummary, TranscriptDocument } from '../../protocol/session/session.ts'
import { isTerminal } from '../../protocol/status.ts'
import { createInstance } from '../../store/create-instance.ts'
import { compileCacheDirectory, prepareHome } from '../../store/home.ts'
import { InstanceIndex } from '../../store/instance-index.ts'
import { lastRecord, readRecord, readRecordInTurns } from '../../store/record.ts'
import { askAgain, retryInput } from '../../view/retry-input.ts'
import type { Story } from '../../view/story.ts'
import { followJournal } from '../journal/follow.ts'
import { type HeldFeed, JournalFeeds } from '../journal/journal-feed.ts'
import type {
  Addition,
  ArchiveOptions,
  AskOptions,
  ByteRange,
  Counted,
  CreateRequest,
  DataContent,
  FollowOptions,
  HealthRow,
  HostState,
  InstanceFilter,
  InstanceGit,
  InstancePage,
  LogOptions,
  NamedSecrets,
  Naming,
  NotifyTargets,
  Platform,
  PrepareOptions,
  PruneOptions,
  PruneOutcome,
  RetryRequest,
  Schedules,
} from '../platform.ts'
import { checkLocalHealth } from '../upkeep/upkeep.ts'
import { Acts } from './acts.ts'
import type { ExportOptions } from './export.ts'
import { findReferred } from './find-referred.ts'
import { localGit } from './git.ts'
import { countInstances, listInstances } from './list-instances.ts'
import { chooseExecutor, refuseName, refuseTooLarge } from './local-checks.ts'
import { readLogs } from './logs.ts'
import { prepareCreation } from './prepare-creation.ts'
import { Reads } from './reads.ts'
import { localNotify, localSchedules, localSecrets } from './settings.ts'
import { readSoundState } from './sound-reads.ts'

/** What a program that hosts instances can do, besides the calls of a consumer. */
export interface LocalPlatform extends Platform {
  /** The index of the home's instances: one for all callers in this process. */
  readonly index: InstanceIndex
  catalog(): Promise<Catalog>
  /** Prepares every resolver that runs in a container, a few at a time (R48). Returns when none is left. */
  prepareAll(onTrouble: (resolver: string, error: unknown) => void): Promise<void>
  /** Removes the files of uploads that neither the catalog nor an unfinished instance names, and what killed processes left. */
  clearUploads(): Promise<void>
  /** The module that the page uses to show a resolver's instances. Throws `resolver_unknown`, `file_unknown`. */
  viewport(name: string): Promise<Buffer>
  /**
   * Adopts the instance if it has no host; returns whether this process hosts it now. An instance that has ended or is paused
   * needs no host.
   */
  host(id: string): Promise<boolean>
  /** As `prepare`, for a resolver that is not registered yet. */
  prepareEntry(entry: CatalogEntry, options?: PrepareOptions): Promise<void>
  /**
   * Starts the program of a resolver that is not registered yet, asks for its form, and compares what it tells of itself with its manifest
   * (R52). One that is not prepared is not started. Throws what kept it from answering: `launch_failed`, `resolver_gone`,
   * `resolver_silent`, `resolver_refused`, `form_malformed`, `docker_unreachable`, `image_missing`; and `resolver_mismatch`.
   */
  tryStart(entry: CatalogEntry): Promise<void>
  /** The instances that this process hosts. */
  hosted(): string[]
  /**
   * The instance's journal as frames of an event stream, shared by all its readers in this process; the caller releases it.
   * Throws `instance_unknown`.
   */
  feed(id: string): HeldFeed
  /** How long the transcripts of its running LLM sessions are, in bytes. */
  transcriptSizes(id: string): Promise<Record<string, number>>
  /** From now on this process sends the notifications of all instances of the home. */
  startNotifying(): void
  export(id: string, options?: ExportOptions): Promise<AsyncIterable<Buffer>>
  /** Resolves when the instance is no longer hosted here. */
  over(id: string): Promise<void>
  /** Like `close`, but releases the hosted instances and leaves their workers running: the next host adopts them. */
  releaseAndClose(): Promise<void>
}

export interface LocalOptions {
  home: string
  /** The folder with one folder per built-in resolver. */
  builtins: string
  /** Answers API requests of other processes for the instances hosted here; without it they cannot send any (R39). */
  socketApi?: SocketApi
  /** How many instances of the home may have a worker at the same time, for those that this process hosts (R70). */
  maxRunning?: number | undefined
}

/** The handler of the socket of a process that hosts instances: the API itself, in `src/server`. */
export type SocketApi = (platform: LocalPlatform) => OnConnection

/** Throws `home_unusable`. */
export async function openLocalPlatform(options: LocalOptions): Promise<LocalPlatform> {
  prepareHome(options.home)
  return new HomePlatform(options)
}

class HomePlatform implements LocalPlatform {
  readonly index: InstanceIndex
  readonly notify: NotifyTargets
  readonly schedules: Schedules
  readonly secrets: NamedSecrets
  readonly git: InstanceGit
  readonly #home: string
  readonly #builtins: string
  readonly #hosts: HostProcess
  readonly #notices: NotifySender
  readonly #reads: Reads
  readonly #acts: Acts
  readonly #feeds = new JournalFeeds()
  readonly #inquiries: Inquiries
  readonly #preparations: Preparations
  #catalog: Promise<Catalog> | undefined

  constructor({ home, builtins, socketApi, maxRunning }: LocalOptions) {
    this.#home = home
    this.index = new InstanceIndex(home)
    this.notify = localNotify(home, this)
    this.schedules = localSchedules(home, this)
    this.secrets = localSecrets(home)
    this.#builtins = builtins
    this.#notices = new NotifySender(home)
    const onOwned = (id: string, story: Story) => this.#notices.watch(id, story)
    this.#hosts = new HostProcess(home, socketApi?.(this), { maxRunning, index: this.index, onOwned })
    this.#inquiries = new Inquiries(home, { compileCache: compileCacheDirectory(home) })
    this.#preparations = new Preparations(home)
    this.#reads = new Reads(home, this.#hosts)
    this.git = localGit({
      home,
      hosts: this.#hosts,
      paths: (id) => this.#reads.paths(id),
      story: (id) => this.story(id),
      ensureHost: (id) => this.ensureHost(id),
    })
    this.#acts = new Acts({
      home,
      paths: (id) => this.#reads.paths(id),
      hosts: this.#hosts,
      journals: this.#reads.journals,
      ensureHost: (id) => this.ensureHost(id),
      record: (id) => this.record(id),
      leave: (id) => this.leave(id),
    })
  }

  catalog(): Promise<Catalog> {
    // Only operations that name a resolver need the catalog; reading an instance does not.
    this.#catalog ??= import('../../catalog/catalog.ts').then(({ openCatalog }) =>
      openCatalog({ home: this.#home, builtins: this.#builtins }),
    )
    return this.#catalog
  }

  async resolvers(): Promise<CatalogEntry[]> {
    return (await this.#freshCatalog()).list()
  }

  async resolver(name: string): Promise<CatalogEntry> {
    return (await this.#freshCatalog()).get(name)
  }

  /** The owner of the home may do everything. */
  async requireScope(): Promise<void> {}

  async addArchive(archive: Buffer, options: ArchiveOptions = {}): Promise<Addition> {
    return await (await this.catalog()).addArchive(archive, options)
  }

  async removeResolver(name: string): Promise<CatalogEntry> {
    const entry = await (await this.catalog()).remove(name)
    // What another process holds is removed by the next removal or the next start of a server.
    if (isUpload(entry)) await this.clearUploads().catch(() => {})
    return entry
  }

  async clearUploads(): Promise<void> {
    const catalog = await this.catalog()
    const { directoriesInUse } = await import('./directories-in-use.ts')
    await catalog.clearUploads(() => directoriesInUse(this.#home, this.index))
  }

  async viewport(name: string): Promise<Buffer> {
    const { readViewport } = await import('../../catalog/viewport.ts')
    return await readViewport(this.#home, await this.resolver(name))
  }

  async schema(name: string, params: Payload | null, options: AskOptions = {}): Promise<Form | null> {
    return await this.#ask(name, options, (inquiry) => inquiry.form(params))
  }

  async check(name: string, input: Payload, options: AskOptions = {}): Promise<FormCheck> {
    return await this.#ask(name, options, (inquiry) => inquiry.check(input))
  }

  async prepare(name: string, options: PrepareOptions = {}): Promise<void> {
    await this.prepareEntry(await this.resolver(name), options)
  }

  async prepareEntry(entry: CatalogEntry, { executor = 'auto', ...options }: PrepareOptions = {}): Promise<void> {
    await this.#preparations.prepare(entry, chooseExecutor(entry, executor), options)
  }

  async prepareAll(onTrouble: (resolver: string, error: unknown) => void): Promise<void> {
    const wanted = (await this.resolvers()).filter((entry) => chooseExecutor(entry, 'auto') === 'docker')
    await Promise.all(
      wanted.map((entry) => this.#preparations.start(entry).catch((error) => onTrouble(entry.name, error))),
    )
  }

  async tryStart(entry: CatalogEntry): Promise<void> {
    const executor = chooseExecutor(entry, 'auto')
    if (!(await this.#preparations.isReady(entry, executor))) return
    await this.#inquiries.ask(entry, executor, async (inquiry) => {
      try {
        await inquiry.form(null)
      } finally {
        inquiry.checkIdentity()
      }
    })
  }

  async create(request: CreateRequest): Promise<InstanceRecord> {
    const { instance_id: chosen } = request
    if (this.#reads.has(chosen)) return await this.record(chosen)
    refuseName(request.name)
    const entry = await this.resolver(request.resolver)
    const executor = chooseExecutor(entry, request.executor ?? 'auto')
    refuseTooLarge(request.input)
    const parts = { home: this.#home, inquiries: this.#inquiries, preparations: this.#preparations }
    const { creation, sealed } = await prepareCreation(parts, entry, request, executor)
    const { instance_id: id } = creation
    await createInstance(this.#home, creation, (paths) => prepareLaunch(executor, paths), sealed)
    const record = await this.record(id)
    await this.#startHost(id, request.host)
    return record
  }

  async list(filter: InstanceFilter = {}): Promise<InstancePage> {
    return await listInstances(this.#home, filter, this.index)
  }

  async counts(narrowing: Counted = {}): Promise<StatusCounts> {
    return await countInstances(narrowing, this.index)
  }

  async find(reference: string): Promise<string> {
    return await findReferred(this.#home, reference, (filter) => this.list(filter))
  }

  async record(id: string): Promise<InstanceRecord> {
    return this.#reads.record(id)
  }

  async rename(id: string, name: string | null): Promise<InstanceRecord> {
    return await this.edit(id, { name })
  }

  async edit(id: string, naming: Naming): Promise<InstanceRecord> {
    refuseName(naming.name)
    return await this.#acts.rename(id, naming)
  }

  async retry(id: string, { input = {}, name, labels = {}, ...rest }: RetryRequest = {}): Promise<InstanceRecord> {
    const { creation } = await this.#reads.story(id)
    const { input: again, missing } = retryInput(creation, input)
    if (missing.length > 0) throw fail('form_invalid', askAgain(missing))
    return await this.create({
      ...budgetIn(creation),
      ...rest,
      resolver: creation.resolver.name,
      input: again,
      name: name === undefined ? nameTakenOver(creation.name) : name,
      labels: withLabels(creation.labels ?? {}, labels),
      parent_id: id,
    })
  }

  async story(id: string): Promise<Story> {
    return this.#reads.story(id)
  }

  async ensureHost(id: string): Promise<void> {
    // Readers call it every few seconds, and the record of a busy instance is behind its journal: much would be read for nothing.
    if (this.#hosts.get(id) !== undefined) return
    const { status } = await readRecordInTurns(this.#reads.paths(id))
    if (isTerminal(status) || status === 'paused') return
    if (await this.hasHost(id)) return
    await startBackgroundHost(this.#home, id)
  }

  async host(id: string): Promise<boolean> {
    const paths = this.#reads.paths(id)
    const { status } = await readRecordInTurns(paths).catch((error: unknown) => {
      // Its host replaces a damaged journal by the part of it that can be trusted (reliability, F35).
      const last = error instanceof ResolveError && error.code === 'journal_broken' ? lastRecord(paths) : undefined
      if (last === undefined) throw error
      return last
    })
    if (isTerminal(status) || status === 'paused') return false
    const isHere = () => this.#hosts.get(id) !== undefined
    return isHere() || (await this.#hosts.own(id)) !== undefined || isHere()
  }

  async over(id: string): Promise<void> {
    await this.#hosts.over(id)
  }

  hosted(): string[] {
    return this.#hosts.ids()
  }

  async releaseAndClose(): Promise<void> {
    for (const id of this.#hosts.ids()) this.#hosts.release(id)
    await this.close()
  }

  async hasHost(id: string): Promise<boolean> {
    this.#reads.paths(id)
    return this.#hosts.get(id) !== undefined || (await hasHost(this.#home, id, this.#hosts.socketPath))
  }

  async hostState(id: string): Promise<HostState> {
    this.#reads.paths(id)
    if (this.#hosts.get(id) !== undefined) return 'answers'
    const state = await hostState(this.#home, id, this.#hosts.socketPath)
    return state === 'answers' && !(await this.hasHost(id)) ? 'none' : state
  }

  async state(id: string): Promise<Record<string, unknown>> {
    return await this.#reads.state(id)
  }

  events(id: string, options: FollowOptions = {}): AsyncIterable<JournalEvent> {
    this.#reads.paths(id)
    return followJournal(() => this.feed(id), options)
  }

  feed(id: string): HeldFeed {
    const { journal } = this.#reads.paths(id)
    const hasEnded = () => isTerminal(this.#reads.status(id))
    return this.#feeds.hold(journal, { ensureHost: () => this.ensureHost(id), hasEnded })
  }

  async logs(id: string, options: LogOptions = {}): Promise<LogPage> {
    const paths = this.#reads.paths(id)
    // A long journal is read here, in turns; the calls below then read only what was added.
    await readRecordInTurns(paths)
    return await readLogs(paths.log, () => isTerminal(readRecord(paths).status), options)
  }

  async sessions(id: string): Promise<SessionSummary[]> {
    return structuredClone((await this.#reads.projection(id)).story.sessions ?? [])
  }

  async transcript(id: string, sessionId: string, after?: number, bytes?: number): Promise<TranscriptDocument> {
    return await readTranscript(this.#reads.paths(id), sessionId, after, bytes)
  }

  async transcriptSizes(id: string): Promise<Record<string, number>> {
    const { story } = await this.#reads.projection(id)
    const running = (story.sessions ?? []).filter(({ status }) => status === 'running')
    return readTranscriptSizes(
      this.#reads.paths(id),
      running.map((session) => session.id),
    )
  }

  async stderrTail(id: string): Promise<string> {
    return readStderrTail(this.#reads.paths(id))
  }

  async inputRequests(id: string, status?: RequestStatus): Promise<InputRequest[]> {
    return this.#reads.inputRequests(id, status)
  }

  async answer(id: string, requestId: string, payload: Payload, actor: Actor): Promise<void> {
    await this.#acts.answer(id, requestId, payload, actor)
  }

  async messageTypes(id: string): Promise<MessageType[]> {
    return await this.#acts.messageTypes(id)
  }

  async message(id: string, type: string, payload: Payload, actor: Actor): Promise<{ number: number }> {
    return await this.#acts.message(id, type, payload, actor)
  }

  async messages(id: string, { after = 0 }: { after?: number } = {}): Promise<SentMessage[]> {
    return this.#reads.messages(id, after)
  }

  async pause(id: string): Promise<InstanceRecord> {
    await this.#acts.pause(id)
    return await this.record(id)
  }

  async resume(id: string, options: { host?: 'here' | 'background'; lost?: boolean } = {}): Promise<InstanceRecord> {
    return await this.#acts.resume(id, options)
  }

  async stop(id: string, options: { reason?: string; force?: boolean } = {}): Promise<InstanceRecord> {
    return await this.#acts.stop(id, 'stop', options.reason ?? 'stop_requested', options.force ?? false)
  }

  async cancel(id: string): Promise<InstanceRecord> {
    return await this.#acts.stop(id, 'cancel', 'cancel_requested', false)
  }

  async dataFiles(id: string): Promise<DataFile[]> {
    return await listData(this.#reads.paths(id))
  }

  async data(id: string, path: string, choose?: (bytes: number) => ByteRange): Promise<DataContent> {
    return this.#reads.data(id, path, choose)
  }

  async export(id: string, options: ExportOptions = {}): Promise<AsyncIterable<Buffer>> {
    const paths = this.#reads.paths(id)
    requireSecretTexts(paths)
    const [record, story] = [await this.record(id), await this.story(id)]
    const { exportInstance } = await import('./export.ts')
    const { exportWork } = await import('../work/export-work.ts')
    const work = () => exportWork(paths.git, story.repos ?? [])
    const { inbox } = await this.#reads.projection(id)
    return exportInstance({ paths, record, story, inbox, state: readSoundState(paths), work, ...options })
  }

  async prune(options: PruneOptions): Promise<PruneOutcome> {
    const { pruneInstances } = await import('../upkeep/prune.ts')
    return await pruneInstances(this.#home, options)
  }

  startNotifying(): void {
    this.#notices.start()
  }

  async health(options: { fix?: boolean } = {}): Promise<HealthRow[]> {
    return await checkLocalHealth({ home: this.#home, builtins: this.#builtins, fix: options.fix ?? false })
  }

  async leave(id: string): Promise<void> {
    if (this.#hosts.get(id) === undefined) return
    this.#hosts.release(id)
    await this.#hosts.over(id)
    await this.ensureHost(id)
  }

  async close(): Promise<void> {
    for (const id of this.#hosts.ids()) await this.leave(id)
    await this.#hosts.close()
    await this.#notices.close()
    await Promise.all([this.#inquiries.close(), this.#preparations.close()])
    if (this.#catalog !== undefined) await (await this.#catalog).close()
  }

  async #ask<T>(name: string, options: AskOptions, work: (inquiry: Inquiry) => Promise<T>): Promise<T> {
    const entry = await this.resolver(name)
    const executor = chooseExecutor(entry, options.executor ?? 'auto')
    await this.#preparations.wait(entry, executor, options.waitMs ?? 0)
    return await this.#inquiries.ask(entry, executor, work)
  }

  async #freshCatalog(): Promise<Catalog> {
    const catalog = await this.catalog()
    await catalog.refresh()
    return catalog
  }

  async #startHost(id: string, host: CreateRequest['host']): Promise<void> {
    if (host === 'background') await startBackgroundHost(this.#home, id)
    else if (host !== 'none') await this.#hosts.own(id)
  }
}
