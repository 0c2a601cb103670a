/**
 * The platform of a server, over HTTP: everything a consumer can do there, with the errors it would meet on the server's own
 * machine. What speaks HTTP is loaded with the first request, so that whoever stays on this machine pays nothing for it.
 */
import { fail, ResolveError } from '../../errors.ts'
import { REMOTE_PAGE_RECORDS } from '../../limits.ts'
import type { CatalogEntry } from '../../protocol/catalog.ts'
import type { Form, FormCheck, Payload } from '../../protocol/form.ts'
import type {
  Actor,
  DataFile,
  InputRequest,
  InstanceRecord,
  MessageType,
  RequestStatus,
  SentMessage,
} from '../../protocol/instance.ts'
import type { JournalEvent } from '../../protocol/journal.ts'
import type { Story } from '../../view/story.ts'
import type {
  ByteRange,
  CreateRequest,
  DataContent,
  FollowOptions,
  HealthRow,
  InstanceFilter,
  InstancePage,
  Platform,
  PruneOptions,
  PruneOutcome,
} from '../platform.ts'
import { addressOf, type RemoteAddress, type RemoteOptions } from './remote-address.ts'
import { openRemoteFile } from './remote-file.ts'
import type { Ask, RemoteHttp } from './remote-http.ts'
import { fieldsOf, nextCursor, withoutPlaces } from './remote-parts.ts'
import * as shapes from './remote-shapes.ts'

export type { RemoteOptions } from './remote-address.ts'

/** Sends nothing yet. Throws `usage` for an address or a token that can't be one. */
export function openRemotePlatform(options: RemoteOptions): Platform {
  return new ServerPlatform(addressOf(options))
}

/** A schema's params go into the address up to this; more is sent as a body. */
const PARAMS_MAX_CHARS = 4_000
const PRUNE_LIMIT_MS = 10 * 60_000

const part = encodeURIComponent

class ServerPlatform implements Platform {
  readonly #address: RemoteAddress
  #opened: Promise<RemoteHttp> | undefined

  constructor(address: RemoteAddress) {
    this.#address = address
  }

  async resolvers(): Promise<CatalogEntry[]> {
    const entries = await (await this.#http()).json({ path: '/resolvers' }, shapes.listOf(shapes.catalogEntry))
    return entries.map(withoutPlaces)
  }

  async resolver(name: string): Promise<CatalogEntry> {
    return withoutPlaces(await (await this.#http()).json({ path: `/resolvers/${part(name)}` }, shapes.catalogEntry))
  }

  async schema(name: string, params: Payload): Promise<Form | null> {
    const text = JSON.stringify(params)
    if (text.length > PARAMS_MAX_CHARS) return (await this.check(name, params)).form
    const ask: Ask = { path: `/resolvers/${part(name)}/schema`, query: { params: text } }
    return (await (await this.#http()).json(ask, shapes.orNull(shapes.form))).value
  }

  async check(name: string, input: Payload): Promise<FormCheck> {
    const ask: Ask = { method: 'POST', path: `/resolvers/${part(name)}/check`, body: { input } }
    return await (await this.#http()).json(ask, shapes.formCheck)
  }

  /** The server hosts it, whatever `host` says. */
  async create({ resolver, input, name, parent_id, executor }: CreateRequest): Promise<InstanceRecord> {
    const body = {
      resolver,
      input,
      ...(name === undefined ? {} : { name }),
      ...(parent_id === undefined ? {} : { parent_id }),
      ...(executor === undefined || executor === 'auto' ? {} : { executor }),
    }
    return await this.#act(
      { path: '/instances', body },
      undefined,
      async () => (await this.check(resolver, input)).fields,
    )
  }

  async list(filter: InstanceFilter = {}): Promise<InstancePage> {
    const http = await this.#http()
    const records: InstanceRecord[] = []
    let cursor = filter.cursor
    do {
      const wanted = Math.min(REMOTE_PAGE_RECORDS, (filter.limit ?? Number.POSITIVE_INFINITY) - records.length)
      const query = { status: filter.status?.join(','), resolver: filter.resolver, limit: String(wanted), cursor }
      const page = await http.jsonAndHeaders({ path: '/instances', query }, shapes.listOf(shapes.record))
      records.push(...page.value)
      const next = nextCursor(page.headers['link'])
      if (next !== undefined && (next === cursor || page.value.length === 0)) throw http.strange('its list has no end')
      cursor = next
    } while (cursor !== undefined && records.length < (filter.limit ?? Number.POSITIVE_INFINITY))
    return { records, cursor: cursor ?? null }
  }

  async find(reference: string): Promise<string> {
    const ask: Ask = { path: '/instances', query: { reference } }
    const [found] = await (await this.#http()).json(ask, shapes.listOf(shapes.record))
    if (found === undefined) throw fail('instance_unknown', { id: reference })
    return found.instance_id
  }

  async record(id: string): Promise<InstanceRecord> {
    return await this.#get(id, '', shapes.record)
  }

  async rename(id: string, name: string | null): Promise<InstanceRecord> {
    const ask: Ask = { method: 'PATCH', path: `/instances/${part(id)}`, body: { name } }
    return await (await this.#http()).json(ask, shapes.record)
  }

  async story(id: string): Promise<Story> {
    return await this.#get(id, '/story', shapes.story)
  }

  /** A token that may only read leaves it to the server, which looks after its instances. */
  async ensureHost(id: string): Promise<void> {
    try {
      await (await this.#http()).done({ method: 'POST', path: `/instances/${part(id)}/attend` })
    } catch (error) {
      if (!(error instanceof ResolveError) || error.code !== 'scope_missing') throw error
    }
  }

  async state(id: string): Promise<Record<string, unknown> | null> {
    try {
      return (await this.#get(id, '/state', shapes.orNull(shapes.anyObject))).value
    } catch (error) {
      if (error instanceof ResolveError && error.code === 'state_missing') return null
      throw error
    }
  }

  async *events(id: string, options: FollowOptions = {}): AsyncGenerator<JournalEvent> {
    const [http, { followRemote }] = await Promise.all([this.#http(), import('./remote-events.ts')])
    yield* followRemote(http, id, options)
  }

  async hasHost(id: string): Promise<boolean> {
    return (await this.#get(id, '/host', shapes.attended)).attended
  }

  async stderrTail(id: string): Promise<string> {
    return await (await this.#http()).text({ path: `/instances/${part(id)}/stderr` })
  }

  async inputRequests(id: string, status?: RequestStatus): Promise<InputRequest[]> {
    const ask: Ask = { path: `/instances/${part(id)}/input-requests`, query: { status } }
    return await (await this.#http()).json(ask, shapes.listOf(shapes.inputRequest))
  }

  async answer(id: string, requestId: string, payload: Payload, actor: Actor): Promise<void> {
    const path = `/instances/${part(id)}/input-requests/${part(requestId)}`
    const schema = async () => (await this.inputRequests(id)).find((one) => one.id === requestId)?.schema
    await this.#told(async (http) => http.done({ method: 'POST', path, body: payload, act: { actor } }), {
      fields: async (errors) => fieldsOf(await schema(), payload, errors),
    })
  }

  async messageTypes(id: string): Promise<MessageType[]> {
    return await this.#get(id, '/message-types', shapes.listOf(shapes.messageType))
  }

  async message(id: string, type: string, payload: Payload, actor: Actor): Promise<{ number: number }> {
    const ask: Ask = {
      method: 'POST',
      path: `/instances/${part(id)}/messages`,
      body: { message_type: type, payload },
      act: { actor },
    }
    const schema = async () => (await this.messageTypes(id)).find((one) => one.name === type)?.schema
    const { number } = await this.#told(async (http) => http.json(ask, shapes.accepted), {
      fields: async (errors) => fieldsOf(await schema(), payload, errors),
    })
    return { number }
  }

  async messages(id: string, { after = 0 }: { after?: number } = {}): Promise<SentMessage[]> {
    return await this.#get(id, `/messages?after=${after}`, shapes.listOf(shapes.sentMessage))
  }

  async pause(id: string): Promise<InstanceRecord> {
    return await this.#act({ path: `/instances/${part(id)}/pause` })
  }

  async resume(id: string): Promise<InstanceRecord> {
    return await this.#act({ path: `/instances/${part(id)}/resume` })
  }

  async stop(id: string, options: { reason?: string; force?: boolean } = {}): Promise<InstanceRecord> {
    return await this.#act({ path: `/instances/${part(id)}/stop`, body: { ...options } })
  }

  async cancel(id: string): Promise<InstanceRecord> {
    const http = await this.#http()
    let isRepeated = false
    const onRetry = () => {
      isRepeated = true
    }
    try {
      return await http.json({ method: 'DELETE', path: `/instances/${part(id)}`, act: {}, onRetry }, shapes.record)
    } catch (error) {
      // The first request, whose answer was lost, may be the one that cancelled it.
      if (!isRepeated || !(error instanceof ResolveError) || error.code !== 'invalid_state') throw error
      const record = await this.record(id)
      if (record.status !== 'cancelled') throw error
      return record
    }
  }

  async dataFiles(id: string): Promise<DataFile[]> {
    return await this.#get(id, '/data', shapes.listOf(shapes.dataFile))
  }

  async data(id: string, path: string, choose?: (bytes: number) => ByteRange): Promise<DataContent> {
    return await openRemoteFile(await this.#http(), { id, path, ...(choose === undefined ? {} : { choose }) })
  }

  async export(id: string): Promise<AsyncIterable<Buffer>> {
    const http = await this.#http()
    return http.bytesOf(await http.open({ path: `/instances/${part(id)}/export` }))
  }

  async prune(options: PruneOptions): Promise<PruneOutcome> {
    const ask: Ask = { method: 'POST', path: '/prune', body: options, limitMs: PRUNE_LIMIT_MS }
    const act = options.dry_run === true ? {} : { act: {} }
    return await (await this.#http()).json({ ...ask, ...act }, shapes.pruneOutcome)
  }

  async health(options: { fix?: boolean } = {}): Promise<HealthRow[]> {
    const ask: Ask =
      options.fix === true ? { method: 'POST', path: '/doctor', body: { fix: true }, act: {} } : { path: '/doctor' }
    return await (await this.#http()).json(ask, shapes.listOf(shapes.healthRow))
  }

  /** The server hosts every instance of its own: nothing is handed over. */
  async leave(): Promise<void> {}

  async close(): Promise<void> {
    await (await this.#opened)?.close()
  }

  #http(): Promise<RemoteHttp> {
    this.#opened ??= import('./remote-http.ts').then(({ RemoteHttp: Http }) => new Http(this.#address))
    return this.#opened
  }

  async #get<T>(id: string, below: string, shape: (value: unknown) => T | undefined): Promise<T> {
    return await (await this.#http()).json({ path: `/instances/${part(id)}${below}` }, shape)
  }

  /** A POST that answers with the record. */
  async #act(ask: Ask, actor?: Actor, fields?: () => Promise<FormCheck['fields']>): Promise<InstanceRecord> {
    const act = actor === undefined ? {} : { actor }
    return await this.#told(async (http) => http.json({ method: 'POST', ...ask, act }, shapes.record), {
      ...(fields === undefined ? {} : { fields }),
    })
  }

  /** A form that fails over HTTP has sentences alone (R7): which field each is about is found out here. */
  async #told<T>(
    call: (http: RemoteHttp) => Promise<T>,
    { fields }: { fields?: (errors: readonly string[]) => Promise<FormCheck['fields']> },
  ): Promise<T> {
    try {
      return await call(await this.#http())
    } catch (error) {
      if (fields === undefined || !(error instanceof ResolveError) || error.code !== 'form_invalid') throw error
      const found = await fields(error.errors).catch(() => [])
      const isSame = JSON.stringify(found.map(({ message }) => message)) === JSON.stringify(error.errors)
      throw isSame ? fail('form_invalid', { errors: error.errors, fields: found }) : error
    }
  }
}
