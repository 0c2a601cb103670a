/**
 * The platform of a remote server: what a consumer can do over HTTP, with the errors that it would get on the server's own
 * machine. The HTTP code is loaded with the first request, so that commands on local homes do not load it.
 */
import { type ErrorCode, fail, ResolveError } from '../../errors.ts'
import { REMOTE_PAGE_RECORDS, UPLOAD_ANSWER_LIMIT_MS } from '../../limits.ts'
import type { JsonOperation, ResultOf } from '../../protocol/api/operations.ts'
import type { CatalogEntry, Resolver } from '../../protocol/catalog.ts'
import type { Form, FormCheck, Payload } from '../../protocol/form.ts'
import { covers, type Scope } from '../../protocol/http.ts'
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
} from '../../protocol/instance.ts'
import type { JournalEvent } from '../../protocol/journal.ts'
import type { LogPage } from '../../protocol/log.ts'
import type { SessionSummary, TranscriptDocument } from '../../protocol/session/session.ts'
import type { Story } from '../../view/story.ts'
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
import { fieldsIn, withFields } from './refused-fields.ts'
import { addressOf, type RemoteAddress, type RemoteOptions } from './remote-address.ts'
import { openRemoteFile } from './remote-file.ts'
import { remoteGit } from './remote-git.ts'
import type { AskOf, RemoteHttp } from './remote-http.ts'
import { remoteNotify, remoteSchedules, remoteSecrets } from './remote-settings.ts'

export type { RemoteOptions } from './remote-address.ts'

/** Sends nothing yet. Throws `usage` for an invalid address or token. */
export function openRemotePlatform(options: RemoteOptions): Platform {
  return new ServerPlatform(addressOf(options))
}

/** What the token may do. Throws `token_refused`, `server_unreachable`, `server_strange`, `usage`. */
export async function verifyToken(url: string, token: string): Promise<ResultOf<'postAuthVerify'> & { url: string }> {
  const address = addressOf({ url, token })
  if (address.token === undefined) throw fail('usage', { problem: 'There is no token: it is empty.' })
  const { RemoteHttp: Http } = await import('./remote-http.ts')
  const http = new Http({ ...address, token: undefined })
  try {
    return { ...(await http.json('postAuthVerify', { body: { token: address.token } })), url: address.shown }
  } finally {
    await http.close()
  }
}

/** The longest params of a schema request that are sent in the address; longer ones are sent as a body. */
const PARAMS_MAX_CHARS = 4_000
const PREPARE_POLL_MS = 1_000
const PRUNE_LIMIT_MS = 10 * 60_000

class ServerPlatform implements Platform {
  readonly notify: NotifyTargets
  readonly schedules: Schedules
  readonly secrets: NamedSecrets
  readonly git: InstanceGit
  readonly #address: RemoteAddress
  #opened: Promise<RemoteHttp> | undefined

  constructor(address: RemoteAddress) {
    this.#address = address
    const http = () => this.#http()
    this.notify = remoteNotify(http)
    this.schedules = remoteSchedules(http, ({ resolver, input }) => this.check(resolver, input))
    this.secrets = remoteSecrets(http)
    this.git = remoteGit(http)
  }

  async resolvers(): Promise<CatalogEntry[]> {
    return (await this.#json('getResolvers', {})).map(withoutPlaces)
  }

  async resolver(name: string): Promise<CatalogEntry> {
    return withoutPlaces(await this.#json('getResolver', { params: { name } }))
  }

  async requireScope(scope: Scope): Promise<void> {
    const { authenticated, scope: has } = await this.#json('getAuthStatus', {})
    if (!authenticated) throw this.#address.token === undefined ? fail('token_missing', {}) : fail('token_refused', {})
    if (!covers(has, scope)) throw fail('scope_missing', { needed: scope, has })
  }

  async addArchive(archive: Buffer, { sha256, force, dryRun }: ArchiveOptions = {}): Promise<Addition> {
    const query = {
      ...(sha256 === undefined ? {} : { sha256 }),
      ...(force === true ? { force } : {}),
      ...(dryRun === true ? { dry_run: true } : {}),
    }
    const ask = { query, archive, act: {}, limitMs: UPLOAD_ANSWER_LIMIT_MS }
    const { plan, resolver } = await this.#json('postResolvers', ask)
    const replaces = plan.replaces === null ? null : withoutPlaces(plan.replaces)
    return { plan: { ...plan, replaces }, entry: resolver === null ? null : withoutPlaces(resolver) }
  }

  async removeResolver(name: string): Promise<CatalogEntry> {
    return withoutPlaces(await this.#json('deleteResolver', { params: { name }, act: {} }))
  }

  async schema(name: string, params: Payload | null, options: AskOptions = {}): Promise<Form | null> {
    if (params === null) return await this.#json('getResolverSchema', { params: { name }, query: waitOf(options) })
    const text = JSON.stringify(params)
    if (text.length > PARAMS_MAX_CHARS) return (await this.check(name, params, options)).form
    return await this.#json('getResolverSchema', { params: { name }, query: { params: text, ...waitOf(options) } })
  }

  async check(name: string, input: Payload, options: AskOptions = {}): Promise<FormCheck> {
    return await this.#json('postResolverCheck', { params: { name }, body: { input, ...waitOf(options) } })
  }

  /** The server does it; this waits. */
  async prepare(name: string, { onWait, signal }: PrepareOptions = {}): Promise<void> {
    for (;;) {
      try {
        await this.schema(name, null, { waitMs: PREPARE_POLL_MS })
        return
      } catch (error) {
        if (!isCode(error, 'resolver_preparing')) throw error
        signal?.throwIfAborted()
        onWait?.((error as ResolveError).message)
      }
    }
  }

  /** The server hosts the instance; `host` is ignored. */
  async create(request: CreateRequest): Promise<InstanceRecord> {
    const { resolver, input, name, parent_id, labels, executor } = request
    const body = {
      resolver,
      input,
      ...(name === undefined ? {} : { name }),
      ...(parent_id === undefined ? {} : { parent_id }),
      ...(labels === undefined ? {} : { labels }),
      ...budgetIn(request),
      ...(executor === undefined || executor === 'auto' ? {} : { executor }),
    }
    return await withFields(
      () => this.#json('postInstances', { body, act: {} }),
      async () => (await this.check(resolver, input)).fields,
    )
  }

  async list(filter: InstanceFilter = {}): Promise<InstancePage> {
    const http = await this.#http()
    const {
      status,
      labels,
      limit: _limit,
      cursor: _cursor,
      trustsEnds: _trustsEnds,
      oldestFirst,
      ...narrowing
    } = filter
    const chosen = {
      ...narrowing,
      ...(oldestFirst === true ? { order: 'oldest' as const } : {}),
      ...(status === undefined ? {} : { status: [...status] }),
      ...(labels === undefined ? {} : { label: [...labels] }),
    }
    const records: InstanceRecord[] = []
    let cursor = filter.cursor
    do {
      const limit = Math.min(REMOTE_PAGE_RECORDS, (filter.limit ?? Number.POSITIVE_INFINITY) - records.length)
      const query = { ...chosen, limit, ...(cursor === undefined ? {} : { cursor }) }
      const page = await http.jsonAndHeaders('getInstances', { query })
      records.push(...page.value)
      const next = nextCursor(page.headers['link'])
      if (next !== undefined && (next === cursor || page.value.length === 0))
        throw http.strange('its list of instances does not end')
      cursor = next
    } while (cursor !== undefined && records.length < (filter.limit ?? Number.POSITIVE_INFINITY))
    return { records, cursor: cursor ?? null }
  }

  async counts({ labels, ...narrowing }: Counted = {}): Promise<StatusCounts> {
    const query = { ...narrowing, ...(labels === undefined ? {} : { label: [...labels] }) }
    return await this.#json('getInstanceCounts', { query })
  }

  async find(reference: string): Promise<string> {
    const [found] = await this.#json('getInstances', { query: { reference } })
    if (found === undefined) throw fail('instance_unknown', { id: reference })
    return found.instance_id
  }

  async record(id: string): Promise<InstanceRecord> {
    return await this.#json('getInstance', { params: { id } })
  }

  async rename(id: string, name: string | null): Promise<InstanceRecord> {
    return await this.edit(id, { name })
  }

  async edit(id: string, naming: Naming): Promise<InstanceRecord> {
    return await this.#json('patchInstance', { params: { id }, body: naming })
  }

  async retry(id: string, request: RetryRequest = {}): Promise<InstanceRecord> {
    const { input, name, labels, executor } = request
    const body = {
      ...(input === undefined ? {} : { input }),
      ...(name === undefined ? {} : { name }),
      ...(labels === undefined ? {} : { labels }),
      ...budgetIn(request),
      ...(executor === undefined || executor === 'auto' ? {} : { executor }),
    }
    return await this.#json('postInstanceRetry', { params: { id }, body, act: {} })
  }

  async story(id: string): Promise<Story> {
    return await this.#json('getInstanceStory', { params: { id } })
  }

  /** With a read token nothing is requested: the server's supervisor adopts instances anyway. */
  async ensureHost(id: string): Promise<void> {
    try {
      await (await this.#http()).done('postInstanceAttend', { params: { id } })
    } catch (error) {
      if (!isCode(error, 'scope_missing')) throw error
    }
  }

  async state(id: string): Promise<Record<string, unknown>> {
    return await this.#json('getInstanceState', { params: { id } })
  }

  async *events(id: string, options: FollowOptions = {}): AsyncGenerator<JournalEvent> {
    const [http, { followRemote }] = await Promise.all([this.#http(), import('./remote-events.ts')])
    yield* followRemote(http, id, options)
  }

  async hasHost(id: string): Promise<boolean> {
    return (await this.#json('getInstanceHost', { params: { id } })).attended
  }

  async hostState(id: string): Promise<HostState> {
    const { attended, answers } = await this.#json('getInstanceHost', { params: { id } })
    return !attended ? 'none' : answers === false ? 'silent' : 'answers'
  }

  async logs(id: string, { waitMs = 0, sources, signal, ...rest }: LogOptions = {}): Promise<LogPage> {
    const query = {
      ...rest,
      ...(sources === undefined ? {} : { source: [...sources] }),
      ...(waitMs === 0 ? {} : { wait: Math.ceil(waitMs / 1_000) }),
    }
    return await this.#json('getInstanceLogs', { params: { id }, query, ...(signal === undefined ? {} : { signal }) })
  }

  async sessions(id: string): Promise<SessionSummary[]> {
    return await this.#json('getInstanceSessions', { params: { id } })
  }

  async transcript(id: string, sessionId: string, after = 0): Promise<TranscriptDocument> {
    const query = after === 0 ? {} : { after }
    const answer = await this.#json('getInstanceSessionTranscript', { params: { id, sid: sessionId }, query })
    // The other format was not asked for.
    return answer as TranscriptDocument
  }

  async stderrTail(id: string): Promise<string> {
    return await (await this.#http()).text('getInstanceStderr', { params: { id } })
  }

  async inputRequests(id: string, status?: RequestStatus): Promise<InputRequest[]> {
    const query = status === undefined ? {} : { status }
    return await this.#json('getInstanceInputRequests', { params: { id }, query })
  }

  async answer(id: string, requestId: string, payload: Payload, actor: Actor): Promise<void> {
    const http = await this.#http()
    await withFields(
      () => http.done('postInstanceInputRequest', { params: { id, rid: requestId }, body: payload, act: { actor } }),
      async (errors) => {
        const form = (await this.inputRequests(id)).find((one) => one.id === requestId)?.schema
        return await fieldsIn(form, payload, errors)
      },
    )
  }

  async messageTypes(id: string): Promise<MessageType[]> {
    return await this.#json('getInstanceMessageTypes', { params: { id } })
  }

  async message(id: string, type: string, payload: Payload, actor: Actor): Promise<{ number: number }> {
    const body = { message_type: type, payload }
    const { number } = await withFields(
      () => this.#json('postInstanceMessages', { params: { id }, body, act: { actor } }),
      async (errors) => {
        const form = (await this.messageTypes(id)).find((one) => one.name === type)?.schema
        return await fieldsIn(form, payload, errors)
      },
    )
    return { number }
  }

  async messages(id: string, { after = 0 }: { after?: number } = {}): Promise<SentMessage[]> {
    return await this.#json('getInstanceMessages', { params: { id }, query: { after } })
  }

  async pause(id: string): Promise<InstanceRecord> {
    return await this.#json('postInstancePause', { params: { id }, act: {} })
  }

  async resume(id: string, { lost }: { lost?: boolean } = {}): Promise<InstanceRecord> {
    return await this.#json('postInstanceResume', { params: { id }, body: lost === true ? { lost } : null, act: {} })
  }

  async stop(id: string, options: { reason?: string; force?: boolean } = {}): Promise<InstanceRecord> {
    return await this.#json('postInstanceStop', { params: { id }, body: { ...options }, act: {} })
  }

  async cancel(id: string): Promise<InstanceRecord> {
    let isRepeated = false
    const onRetry = () => {
      isRepeated = true
    }
    try {
      return await this.#json('deleteInstance', { params: { id }, act: {}, onRetry })
    } catch (error) {
      // The first request, whose answer was lost, may have cancelled it.
      if (!isRepeated || !isCode(error, 'invalid_state')) throw error
      const record = await this.record(id)
      if (record.status !== 'cancelled') throw error
      return record
    }
  }

  async dataFiles(id: string): Promise<DataFile[]> {
    return await this.#json('getInstanceData', { params: { id } })
  }

  async data(id: string, path: string, choose?: (bytes: number) => ByteRange): Promise<DataContent> {
    return await openRemoteFile(await this.#http(), { id, path, ...(choose === undefined ? {} : { choose }) })
  }

  async export(id: string): Promise<AsyncIterable<Buffer>> {
    const http = await this.#http()
    return http.bytesOf(await http.open('getInstanceExport', { params: { id } }))
  }

  async prune(options: PruneOptions): Promise<PruneOutcome> {
    const act = options.dry_run === true ? {} : { act: {} }
    return await this.#json('postPrune', { body: options, limitMs: PRUNE_LIMIT_MS, ...act })
  }

  async health(options: { fix?: boolean } = {}): Promise<HealthRow[]> {
    if (options.fix !== true) return await this.#json('getDoctor', {})
    return await this.#json('postDoctor', { body: { fix: true }, act: {} })
  }

  /** The server keeps its instances: there is nothing to release. */
  async leave(): Promise<void> {}

  async close(): Promise<void> {
    await (await this.#opened)?.close()
  }

  #http(): Promise<RemoteHttp> {
    this.#opened ??= import('./remote-http.ts').then(({ RemoteHttp: Http }) => new Http(this.#address))
    return this.#opened
  }

  async #json<N extends JsonOperation>(name: N, ask: AskOf<N>): Promise<ResultOf<N>> {
    return await (await this.#http()).json(name, ask)
  }
}

/** The cursor of the next page, from a `Link` header (R9). */
function nextCursor(link: string | string[] | undefined): string | undefined {
  const next = /<([^>]*)>\s*;\s*rel="?next"?/.exec([link ?? []].flat().join(', '))?.[1]
  if (next === undefined || !URL.canParse(next, 'http://localhost')) return undefined
  return new URL(next, 'http://localhost').searchParams.get('cursor') ?? undefined
}

/** A server shows paths to its owner only; for other callers they are empty. */
function withoutPlaces(entry: Resolver): CatalogEntry {
  return { ...entry, dir: entry.dir ?? '', source: entry.source ?? '' }
}

function isCode(error: unknown, code: ErrorCode): boolean {
  return error instanceof ResolveError && error.code === code
}

/** A server waits for a second at least. */
function waitOf({ waitMs }: AskOptions): { wait?: number } {
  return waitMs === undefined ? {} : { wait: Math.max(1, Math.round(waitMs / 1_000)) }
}
