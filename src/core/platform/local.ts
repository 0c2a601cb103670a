/** The platform on this machine's home directory: what every command talks to (R39). */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { Catalog } from '../catalog/catalog.ts'
import { fail, ResolveError } from '../errors.ts'
import { Inquiry } from '../host/ask.ts'
import type { ControlCalls } from '../host/control-socket.ts'
import { formRefusal } from '../host/form-check.ts'
import type { InstanceHost } from '../host/host.ts'
import { HostProcess } from '../host/host-process.ts'
import { listData, openData, readInstanceState, readStderrTail } from '../host/instance-files.ts'
import { callHost, isAttended, startBackgroundHost } from '../host/reach.ts'
import type { CatalogEntry } from '../protocol/catalog.ts'
import type { Form, Payload } from '../protocol/form.ts'
import type { Actor, InputRequest, InstanceRecord, MessageType, RequestStatus } from '../protocol/instance.ts'
import type { JournalEvent } from '../protocol/journal.ts'
import { isTerminal } from '../protocol/status.ts'
import { createInstance } from '../store/create-instance.ts'
import { findInstance, instancePaths, isInstanceId, prepareHome } from '../store/home.ts'
import { readRecord, readStory, toRecord } from '../store/record.ts'
import type { Story } from '../view/story.ts'
import { followJournal } from './follow.ts'
import { listInstances } from './list-instances.ts'
import { chooseExecutor, refuseTooLarge } from './local-checks.ts'
import { checkLocalHealth } from './local-health.ts'
import type {
  CreateRequest,
  DataContent,
  DataFile,
  FollowOptions,
  FormCheck,
  HealthRow,
  InstanceFilter,
  InstancePage,
  Platform,
  PruneOptions,
  PruneOutcome,
} from './platform.ts'
import { prepareBirth } from './prepare-birth.ts'
import { refusal, wasAccepted } from './refusal.ts'
import { readSoundState } from './sound-reads.ts'

export interface LocalPlatform extends Platform {
  catalog(): Promise<Catalog>
}

/** `builtins` is the folder with one folder per built-in resolver. Throws `home_unusable`. */
export async function openLocalPlatform(options: { home: string; builtins: string }): Promise<LocalPlatform> {
  prepareHome(options.home)
  return new HomePlatform(options.home, options.builtins)
}

type Where = { host?: 'here' | 'background' }

class HomePlatform implements LocalPlatform {
  readonly #home: string
  readonly #builtins: string
  readonly #hosts: HostProcess
  #catalog: Promise<Catalog> | undefined

  constructor(home: string, builtins: string) {
    this.#home = home
    this.#builtins = builtins
    this.#hosts = new HostProcess(home)
  }

  catalog(): Promise<Catalog> {
    // Only what names a resolver needs it: reading an instance does not.
    this.#catalog ??= import('../catalog/catalog.ts').then(({ openCatalog }) =>
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

  async schema(name: string, params: Payload): Promise<Form | null> {
    const inquiry = new Inquiry(await this.resolver(name))
    try {
      return await inquiry.form(params)
    } finally {
      inquiry.close()
    }
  }

  async check(name: string, input: Payload): Promise<FormCheck> {
    const form = await this.schema(name, input)
    const refusal = formRefusal(form, input)
    return { form, errors: [...(refusal?.errors ?? [])], fields: [...(refusal?.fields ?? [])] }
  }

  async create(request: CreateRequest): Promise<InstanceRecord> {
    const entry = await this.resolver(request.resolver)
    const executor = chooseExecutor(entry, request.executor ?? 'auto')
    refuseTooLarge(request.input)
    const birth = await prepareBirth(entry, request, executor)
    const { instance_id: id } = birth
    await createInstance(this.#home, birth)
    const record = await this.record(id)
    await this.#startHost(id, request)
    return record
  }

  async list(filter: InstanceFilter = {}): Promise<InstancePage> {
    return listInstances(this.#home, filter)
  }

  async find(reference: string): Promise<string> {
    return findInstance(this.#home, reference)
  }

  async record(id: string): Promise<InstanceRecord> {
    const paths = this.#paths(id)
    const state = readSoundState(paths)
    const held = this.#hosts.get(id)
    const record = held === undefined ? readRecord(paths) : toRecord(held.ledger.story)
    const phase = record.phase ?? (typeof state?.['phase'] === 'string' ? state['phase'] : null)
    return { ...record, resolver_state: state, phase }
  }

  async story(id: string): Promise<Story> {
    return readStory(this.#paths(id).journal)
  }

  async attend(id: string): Promise<void> {
    const { status } = readRecord(this.#paths(id))
    if (isTerminal(status) || status === 'paused') return
    if (this.#hosts.get(id) !== undefined || (await isAttended(this.#home, id))) return
    await startBackgroundHost(this.#home, id)
  }

  async isAttended(id: string): Promise<boolean> {
    this.#paths(id)
    return this.#hosts.get(id) !== undefined || (await isAttended(this.#home, id))
  }

  async state(id: string): Promise<Record<string, unknown> | null> {
    return readInstanceState(this.#paths(id))
  }

  events(id: string, options: FollowOptions = {}): AsyncIterable<JournalEvent> {
    const paths = this.#paths(id)
    const hasEnded = () => isTerminal(readRecord(paths).status)
    return followJournal(paths.journal, options, { attend: () => this.attend(id), hasEnded })
  }

  async stderrTail(id: string): Promise<string> {
    return readStderrTail(this.#paths(id))
  }

  async inputRequests(id: string, status?: RequestStatus): Promise<InputRequest[]> {
    const { requests } = await this.story(id)
    return requests
      .filter((request) => status === undefined || request.status === status)
      .map(({ id: requestId, prompt, schema, status: now }) => ({ id: requestId, prompt, schema, status: now }))
  }

  async answer(id: string, requestId: string, payload: Payload, actor: Actor): Promise<void> {
    refuseTooLarge(payload)
    const keyed = { key: randomUUID(), ...actor }
    await this.#ask(id, 'host.answer', { id, request_id: requestId, payload, actor: keyed }, (host) =>
      host.answer(requestId, payload, keyed),
    )
  }

  async messageTypes(id: string): Promise<MessageType[]> {
    const types = await this.#ask(id, 'host.messageTypes', { id }, (host) => host.messageTypes())
    return types as MessageType[]
  }

  async message(id: string, type: string, payload: Payload, actor: Actor): Promise<{ number: number }> {
    refuseTooLarge(payload)
    const keyed = { key: randomUUID(), ...actor }
    const params = { id, type, payload, actor: keyed }
    const number = await this.#ask(id, 'host.message', params, (host) => host.message(type, payload, keyed))
    return { number: number as number }
  }

  async pause(id: string): Promise<InstanceRecord> {
    await this.#ask(id, 'host.pause', { id }, (host) => host.pause())
    return await this.record(id)
  }

  async resume(id: string, options: Where = {}): Promise<InstanceRecord> {
    const host = await this.#hosts.own(id, (ledger) => {
      const { manifest, name } = ledger.story.birth.resolver
      if (manifest.supports_resume !== true) throw fail('resume_unsupported', { resolver: name })
      if (ledger.status !== 'paused') throw fail('invalid_state', { action: 'resume', status: ledger.status })
      ledger.move('running', { reason: 'resumed' })
    })
    if (host === undefined) throw fail('invalid_state', { action: 'resume', status: (await this.record(id)).status })
    const record = await this.record(id)
    if (options.host === 'background') await this.leave(id)
    return record
  }

  async stop(id: string, options: { reason?: string; force?: boolean } = {}): Promise<InstanceRecord> {
    return await this.#stop(id, 'stop', options.reason ?? 'stop_requested', options.force ?? false)
  }

  async cancel(id: string): Promise<InstanceRecord> {
    return await this.#stop(id, 'cancel', 'cancel_requested', false)
  }

  async dataFiles(id: string): Promise<DataFile[]> {
    return listData(this.#paths(id))
  }

  async data(id: string, path: string): Promise<DataContent> {
    return openData(this.#paths(id), path)
  }

  async export(id: string): Promise<AsyncIterable<Buffer>> {
    const paths = this.#paths(id)
    const [record, story] = [await this.record(id), await this.story(id)]
    const { exportInstance } = await import('./export.ts')
    return exportInstance({ paths, record, story, state: readSoundState(paths) })
  }

  async prune(options: PruneOptions): Promise<PruneOutcome> {
    const { pruneInstances } = await import('./prune.ts')
    return await pruneInstances(this.#home, options)
  }

  async health(options: { fix?: boolean } = {}): Promise<HealthRow[]> {
    return await checkLocalHealth({ home: this.#home, builtins: this.#builtins, fix: options.fix ?? false })
  }

  async leave(id: string): Promise<void> {
    if (this.#hosts.get(id) === undefined) return
    this.#hosts.release(id)
    await this.#hosts.over(id)
    await this.attend(id)
  }

  async close(): Promise<void> {
    for (const id of this.#hosts.ids()) await this.leave(id)
    await this.#hosts.close()
    if (this.#catalog !== undefined) await (await this.#catalog).close()
  }

  async #freshCatalog(): Promise<Catalog> {
    const catalog = await this.catalog()
    await catalog.refresh()
    return catalog
  }

  async #startHost(id: string, where: Where): Promise<void> {
    if (where.host === 'background') await startBackgroundHost(this.#home, id)
    else await this.#hosts.own(id)
  }

  async #stop(id: string, how: 'stop' | 'cancel', reason: string, force: boolean): Promise<InstanceRecord> {
    const { status } = await this.record(id)
    if (isTerminal(status)) throw fail('invalid_state', { action: how, status })
    if (status === 'paused') await this.#stopPaused(id, how, reason)
    else await this.#stopLive(id, how, reason, force)
    return await this.record(id)
  }

  /** A pause may come first: then it is stopped where it stands (R20). */
  async #stopLive(id: string, how: 'stop' | 'cancel', reason: string, force: boolean): Promise<void> {
    try {
      await this.#ask(id, 'host.stop', { id, how, reason, force }, (host) => host.stop(how, reason, force))
    } catch (error) {
      const isPaused = (await this.record(id)).status === 'paused'
      if (!isPaused) throw error
      await this.#stopPaused(id, how, reason)
    }
  }

  /** A paused instance has no worker, and so no host: this process owns it for a moment. */
  async #stopPaused(id: string, how: 'stop' | 'cancel', reason: string): Promise<void> {
    const host = await this.#hosts.own(id, (ledger) => {
      if (ledger.status !== 'paused') throw fail('invalid_state', { action: how, status: ledger.status })
      ledger.move('cancelled', { reason, output: ledger.story.output, error: null })
    })
    if (host === undefined) throw fail('host_unreachable', { instance: id, reason: 'another command is at it' })
    await this.#hosts.over(id)
  }

  /** Asks the host of the instance, in this process or another; one that is gone is replaced first. */
  async #ask<N extends keyof ControlCalls>(
    id: string,
    name: N,
    params: ControlCalls[N],
    here: (host: InstanceHost) => unknown,
  ): Promise<unknown> {
    const own = this.#hosts.get(id)
    if (own !== undefined) return await here(own)
    const { status } = readRecord(this.#paths(id))
    if (isTerminal(status) || status === 'paused') throw refusal(readStory(this.#paths(id).journal), name, params)
    await this.attend(id)
    try {
      return await callHost(this.#home, name, params)
    } catch (error) {
      if (!(error instanceof ResolveError) || error.code !== 'host_unreachable') throw error
      // It ended, or handed over, between the look and the call; what it accepted before stands.
      const accepted = wasAccepted(this.#paths(id), params)
      if (accepted !== undefined) return accepted
      const now = readRecord(this.#paths(id)).status
      if (isTerminal(now) || now === 'paused') throw refusal(readStory(this.#paths(id).journal), name, params)
      await this.attend(id)
      return await callHost(this.#home, name, params)
    }
  }

  #paths(id: string) {
    const paths = instancePaths(this.#home, id)
    if (!isInstanceId(id) || !existsSync(paths.journal)) throw fail('instance_unknown', { id })
    return paths
  }
}
