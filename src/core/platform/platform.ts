/**
 * Everything a consumer can do, as one interface. Commands and the HTTP API call nothing else.
 * {@link file://./local/local.ts} serves it from this machine's home directory.
 * Every method throws a `ResolveError` of the catalogue where it cannot do what it says.
 */

import type { EventData } from '../protocol/api/events.ts'
import type { NotifyOutcome, NotifyRequest, NotifyTarget } from '../protocol/api/notify.ts'
import type { PromotionAsk, PromotionOutcome } from '../protocol/api/promotion.ts'
import type { newSchedule, schedule } from '../protocol/api/schedule.ts'
import type { SecretContent, SecretInfo } from '../protocol/api/secrets.ts'
import type { healthRow, pruned, pruneOptions, pruneOutcome } from '../protocol/api/upkeep.ts'
import type { addPlan, CatalogEntry } from '../protocol/catalog.ts'
import type { ChangedRepo, DiffBase, PullRequest, RepoDiff, RepoHistory } from '../protocol/changes.ts'
import type { Form, FormCheck, Payload } from '../protocol/form.ts'
import type { Scope } from '../protocol/http.ts'
import type {
  Actor,
  DataFile,
  InputRequest,
  InstanceRecord,
  LabelChanges,
  Labels,
  MessageType,
  RequestStatus,
  ScheduleOrigin,
  SentMessage,
  StatusCounts,
} from '../protocol/instance.ts'
import type { Executor, JournalEvent } from '../protocol/journal.ts'
import type { LogPage, LogSource } from '../protocol/log.ts'
import type { SessionSummary, TranscriptDocument } from '../protocol/session/session.ts'
import type { Static } from '../schema/schema.ts'
import type { Narrowing } from '../view/find-words.ts'
import type { Story } from '../view/story.ts'

export interface CreateRequest {
  resolver: string
  input: Payload
  name?: string | null
  parent_id?: string | null
  labels?: Labels
  /** What its LLM sessions may cost together, in US dollars; default: RESOLVE_BUDGET_USD, else no limit. */
  budget_usd?: number
  /** How many tokens they may use together; default: RESOLVE_BUDGET_TOKENS, else no limit. */
  budget_tokens?: number
  /** Default: docker where the manifest has a container, local otherwise. */
  executor?: Executor | 'auto'
  /**
   * Where the host runs: in this process (default), or in one of its own that outlives it. `none`: the next command that needs the
   * instance, or a server, hosts it.
   */
  host?: 'here' | 'background' | 'none'
  /** The id it shall have, chosen before it was asked for: creating it again gives the same instance (R11). */
  instance_id?: string
  /** The schedule that creates it. */
  schedule?: ScheduleOrigin
}

/** What is changed when an instance is run again; all else is as before. */
export interface RetryRequest
  extends Pick<CreateRequest, 'executor' | 'host' | 'instance_id' | 'budget_usd' | 'budget_tokens'> {
  /** Fields of the input. Secret ones must be among them. */
  input?: Payload
  name?: string | null
  labels?: LabelChanges
}

/** What people call an instance; what is absent stays. */
export interface Naming {
  name?: string | null
  labels?: LabelChanges
}

export interface AskOptions {
  /** Where the resolver is asked, as in {@link CreateRequest}. */
  executor?: Executor | 'auto'
  /**
   * How long to wait for the setup of a resolver that is not prepared (R48); default: not at all here, 20 s at a server. Then it is
   * refused with `resolver_preparing`, and the setup goes on.
   */
  waitMs?: number
}

export interface PrepareOptions {
  /** As in {@link CreateRequest}. */
  executor?: Executor | 'auto'
  onProgress?: (progress: SetupProgress) => void
  /** A sentence, while a server prepares it. */
  onWait?: (sentence: string) => void
  /** Ends a setup on this machine, unless another caller waits for it too. */
  signal?: AbortSignal
}

/** A step of a setup begins, prints, or has ended with an exit code. */
export type SetupProgress = EventData<'platform.setup.progress'>

export interface InstanceFilter extends Narrowing {
  /** How many at most; newest first. */
  limit?: number
  /** The other way around. */
  oldestFirst?: boolean
  /** From {@link InstancePage.cursor}. */
  cursor?: string
  /**
   * An instance that has ended by the index of the home is not looked at again. It is missing only where a person put back files of the
   * time before its end, until the index is written anew (docs/on-disk.md, The index).
   */
  trustsEnds?: boolean
}

/** Which instances are counted: those of every status. */
export type Counted = Omit<Narrowing, 'status'>

export interface InstancePage {
  records: InstanceRecord[]
  /** For the next page; null on the last one. */
  cursor: string | null
}

export interface FollowOptions {
  /** Only events with a greater sequence number. Default 0: all. */
  after?: number
  /** Go on until the instance ends (default false: up to now). */
  follow?: boolean
  signal?: AbortSignal
  /** Told when the connection to a server is lost for longer than a moment, and when it is back; on this machine never. */
  onConnection?: (connection: Connection) => void
}

/** How the connection to a server stands. Times are milliseconds since 1970. */
export type Connection = { state: 'lost'; since: number; givesUpAt: number } | { state: 'back'; since: number }

export interface LogOptions {
  /** Only lines with a greater number: {@link LogPage.next} of the page before. */
  after?: number
  /** Only the last lines, this many. */
  tail?: number
  /** Only lines from this time on, ISO-8601 UTC. */
  since?: string
  /** Default: all. */
  sources?: readonly LogSource[]
  /** How many lines at most. */
  limit?: number
  /** Where there is no line yet: how long to wait for one, at most 20 s. */
  waitMs?: number
  signal?: AbortSignal
}

/** A part of a file: `from` its first byte, `to` the one after its last. */
export interface ByteRange {
  from: number
  to: number
}

export interface DataContent {
  /** Of the whole file. */
  bytes: number
  /** ISO-8601 UTC. */
  modified_at: string
  /** What was asked for, the whole file by default; it stops at its end even where the file grows meanwhile. */
  stream: AsyncIterable<Buffer>
}

/** Which finished instances `prune` removes. */
export type PruneOptions = Static<typeof pruneOptions>
export type Pruned = Static<typeof pruned>
export type PruneOutcome = Static<typeof pruneOutcome>

export type { PromotionAsk, PromotionOutcome }

export type NewSchedule = Static<typeof newSchedule>
export type Schedule = Static<typeof schedule>

export type HealthRow = Static<typeof healthRow>
export type HealthState = HealthRow['state']

/** Whether an instance has a live host, and whether that one answers requests. */
export type HostState = 'none' | 'silent' | 'answers'

export interface ArchiveOptions {
  /** SHA-256 of the tar before it was compressed; another one is refused. */
  sha256?: string | undefined
  /** Replace a resolver of the same name from another source. */
  force?: boolean | undefined
  dryRun?: boolean | undefined
}

/** `replaces` as in the list of resolvers. */
export type AddPlan = Omit<Static<typeof addPlan>, 'replaces'> & { replaces: CatalogEntry | null }

export interface Addition {
  plan: AddPlan
  /** Null after a dry run. */
  entry: CatalogEntry | null
}

export interface Platform {
  resolvers(): Promise<CatalogEntry[]>
  resolver(name: string): Promise<CatalogEntry>
  /** Throws `scope_missing` where the caller may do less, `token_missing`, `token_refused`. */
  requireScope(scope: Scope): Promise<void>
  /** Adds a resolver from an archive of its directory; `dryRun` only checks it. */
  addArchive(archive: Buffer, options?: ArchiveOptions): Promise<Addition>
  /** Removes it from the catalog. Its instances stay, also those that run, and so do the files that unfinished ones need. */
  removeResolver(name: string): Promise<CatalogEntry>
  /** The form for these params (progressive disclosure), null for none given (R52); null where the resolver has none. */
  schema(name: string, params: Payload | null, options?: AskOptions): Promise<Form | null>
  /** The form for this input, and every message of a failing check (R10). Creates nothing. */
  check(name: string, input: Payload, options?: AskOptions): Promise<FormCheck>
  /** Returns when the resolver can be asked for its form at once (R48). */
  prepare(name: string, options?: PrepareOptions): Promise<void>

  /** Returns once the intent is on disk (R12); follow the events for the rest. */
  create(request: CreateRequest): Promise<InstanceRecord>
  list(filter?: InstanceFilter): Promise<InstancePage>
  /** How many instances fit, for each status that one of them has. */
  counts(narrowing?: Counted): Promise<StatusCounts>
  /** A whole id from an id, a unique prefix of 4 or more, `@last` (R3), or a name. An id wins over a name. */
  find(reference: string): Promise<string>
  record(id: string): Promise<InstanceRecord>
  /** Gives it another name for people, or none (R9). */
  rename(id: string, name: string | null): Promise<InstanceRecord>
  /** Changes its name, its labels, or both. */
  edit(id: string, naming: Naming): Promise<InstanceRecord>
  /** Creates an instance with the same resolver and input, and with this one as its parent. Throws as {@link create}. */
  retry(id: string, changes?: RetryRequest): Promise<InstanceRecord>
  story(id: string): Promise<Story>
  /** Sees to it that a live host owns the instance: adopts it where its host is gone. */
  ensureHost(id: string): Promise<void>
  /** The resolver's snapshot with `status`, `phase` and `updated_at` of the instance; before the first one `{status, phase}` (R47). */
  state(id: string): Promise<Record<string, unknown>>
  /** Events of the journal, in order, each once. With `follow` it ends when the instance has ended (also paused: no). */
  events(id: string, options?: FollowOptions): AsyncIterable<JournalEvent>
  /** Whether a live host owns the instance; looks, and starts none. */
  hasHost(id: string): Promise<boolean>
  /** As {@link hasHost}, but sends the host a request: a suspended one is `silent`. Takes a few seconds for one that is. */
  hostState(id: string): Promise<HostState>
  /** A page of what its worker printed and logged; read on with `after`. Text may have control characters. */
  logs(id: string, options?: LogOptions): Promise<LogPage>
  /** Its LLM sessions as its events tell them: the latest 500, oldest first. */
  sessions(id: string): Promise<SessionSummary[]>
  /**
   * What a session did, from `meta.next` of an earlier answer on; `bytes`: where less than an answer is wanted at once. Throws
   * `session_unknown`. Text may have control characters.
   */
  transcript(id: string, sessionId: string, after?: number, bytes?: number): Promise<TranscriptDocument>
  /** The last bytes of the worker's stderr, as text. */
  stderrTail(id: string): Promise<string>

  inputRequests(id: string, status?: RequestStatus): Promise<InputRequest[]>
  answer(id: string, requestId: string, payload: Payload, actor: Actor): Promise<void>
  messageTypes(id: string): Promise<MessageType[]>
  message(id: string, type: string, payload: Payload, actor: Actor): Promise<{ number: number }>
  /** The messages that were accepted, in order (R9): those with a greater number than `after`, as many as fit into a page. */
  messages(id: string, options?: { after?: number }): Promise<SentMessage[]>

  pause(id: string): Promise<InstanceRecord>
  /**
   * `host` as in {@link CreateRequest}. `lost`: a resume without a person, of an instance whose worker was lost (R58); throws
   * `resume_exhausted` after the third.
   */
  resume(id: string, options?: { host?: 'here' | 'background'; lost?: boolean }): Promise<InstanceRecord>
  /**
   * Asks for a graceful stop and returns once that is on disk; with `force` the worker is killed at once, and a host that does not
   * answer with it. Throws `host_silent`: then the stop is on disk, too.
   */
  stop(id: string, options?: { reason?: string; force?: boolean }): Promise<InstanceRecord>
  cancel(id: string): Promise<InstanceRecord>

  dataFiles(id: string): Promise<DataFile[]>
  /** `choose` is told the file's size and says which part to read. Throws what `choose` throws. */
  data(id: string, path: string, choose?: (bytes: number) => ByteRange): Promise<DataContent>

  /** A gzip'd tar of all that is known of the instance, without secrets (docs/on-disk.md, Export); also while it runs. */
  export(id: string): Promise<AsyncIterable<Buffer>>
  /** Removes finished instances for good. */
  prune(options: PruneOptions): Promise<PruneOutcome>
  readonly notify: NotifyTargets
  readonly schedules: Schedules
  readonly secrets: NamedSecrets
  readonly git: InstanceGit
  /** Looks after the machine and the home; with `fix` it mends what is safe to mend. */
  health(options?: { fix?: boolean }): Promise<HealthRow[]>

  /** Hands an instance that this process hosts to a background host; does nothing for any other. */
  leave(id: string): Promise<void>
  /** Ends what this process holds; what it still hosts is handed over as {@link leave} does. */
  close(): Promise<void>
}

export interface WorkDiffOptions {
  /** What it is compared with; default: start. */
  base?: DiffBase
  /** The number of a snapshot, `last` for the latest one, or `pushed`; default: the work as it is now. */
  snapshot?: number | 'last' | 'pushed'
  /** Only this file, as it is listed. */
  path?: string
  patch?: boolean
}

export interface WorkBundle {
  /** Undefined where the server does not say it. */
  bytes: number | undefined
  stream: AsyncIterable<Buffer>
}

/** What an instance changed in the repositories of its workspace (docs/git.md). Every method throws `instance_unknown`, `repo_unknown`. */
export interface GitWork {
  repos(id: string): Promise<ChangedRepo[]>
  /** Throws `change_unknown`. */
  diff(id: string, repo: string, options?: WorkDiffOptions): Promise<RepoDiff>
  commits(id: string, repo: string): Promise<RepoHistory>
  pulls(id: string, repo: string): Promise<PullRequest[]>
  /** Pushed branches and the work, for `git fetch`; `whole` with what the upstream had. Throws `change_unknown`. */
  bundle(id: string, repo: string, options?: { whole?: boolean }): Promise<WorkBundle>
}

/** Where notifications are sent, and what waits to be sent. */
export interface NotifyTargets {
  list(): Promise<NotifyTarget[]>
  add(request: NotifyRequest): Promise<NotifyTarget>
  remove(name: string): Promise<NotifyTarget>
  /** Sends a test to one target, once. */
  test(name: string): Promise<NotifyOutcome>
}

/** What consumers do with the repositories of an instance (docs/git.md). */
export interface InstanceGit extends GitWork {
  /** Brings a branch upstream as a pull request, or only looks (`dry_run`). `atTerminal`: a person sits at this process. */
  promote(
    id: string,
    repo: string,
    ask: PromotionAsk,
    actor: Actor,
    options?: { atTerminal?: boolean },
  ): Promise<PromotionOutcome>
}

/** The schedules of the home, which `serve` runs (R72). A reference is a name or an id. */
export interface Schedules {
  list(): Promise<Schedule[]>
  add(request: NewSchedule, actor: Actor): Promise<Schedule>
  remove(reference: string): Promise<Schedule>
  pause(reference: string, paused: boolean): Promise<Schedule>
}

/** The named secrets, without their values (R55). */
export interface NamedSecrets {
  list(): Promise<SecretInfo[]>
  /** On disk when it returns. Only a value can be sent to a server. */
  set(name: string, content: SecretContent): Promise<SecretInfo>
  remove(name: string): Promise<SecretInfo>
}
