/**
 * Reads everything about an instance, whether this process hosts it or not: record, story, input requests, messages and
 * files.
 */
import { existsSync } from 'node:fs'
import { fail } from '../../errors.ts'
import { openData, readSnapshot } from '../../host/ingest/instance-files.ts'
import type { HostProcess } from '../../host/process/host-process.ts'
import { PAGE_MAX_BYTES } from '../../limits.ts'
import type { InputRequest, InstanceRecord, RequestStatus, SentMessage } from '../../protocol/instance.ts'
import type { Status } from '../../protocol/status.ts'
import { type InstancePaths, instancePaths, isInstanceId } from '../../store/home.ts'
import { readPayload } from '../../store/inbox.ts'
import type { JournalProjection } from '../../store/journal-projection.ts'
import { readRecord, readRecordInTurns, toRecord } from '../../store/record.ts'
import type { Story } from '../../view/story.ts'
import { JournalCache } from '../journal/journal-cache.ts'
import type { ByteRange, DataContent } from '../platform.ts'
import { readSoundSnapshot } from './sound-reads.ts'

export class Reads {
  readonly #home: string
  readonly #hosts: HostProcess
  /** Of instances that this process does not host. */
  readonly journals = new JournalCache()

  constructor(home: string, hosts: HostProcess) {
    this.#home = home
    this.#hosts = hosts
  }

  /** Throws `instance_unknown`. */
  paths(id: string): InstancePaths {
    const paths = instancePaths(this.#home, id)
    if (!isInstanceId(id)) throw fail('instance_unknown', { id: String(id).slice(0, 80), whole: true })
    if (!existsSync(paths.journal)) throw fail('instance_unknown', { id })
    return paths
  }

  has(id: string | undefined): id is string {
    return isInstanceId(id) && existsSync(instancePaths(this.#home, id).journal)
  }

  async record(id: string): Promise<InstanceRecord> {
    return await this.#recordWith(id, readSoundSnapshot(this.paths(id)))
  }

  /** From the record alone. */
  status(id: string): Status {
    return this.#hosts.get(id)?.ledger.status ?? readRecord(this.paths(id)).status
  }

  /** Throws `coordination_tampered` where the resolver put something else in place of its state. */
  async state(id: string): Promise<Record<string, unknown>> {
    const snapshot = readSnapshot(this.paths(id))
    const { status, phase, updated_at } = await this.#recordWith(id, snapshot)
    return snapshot === undefined ? { status, phase } : { ...snapshot.state, status, phase, updated_at }
  }

  async #recordWith(id: string, snapshot: ReturnType<typeof readSnapshot>): Promise<InstanceRecord> {
    const held = this.#hosts.get(id)
    const record = held === undefined ? await readRecordInTurns(this.paths(id)) : toRecord(held.ledger.story)
    const resolver_state = snapshot?.state ?? null
    const named = resolver_state?.['phase']
    if (typeof named !== 'string' || named === record.phase) return { ...record, resolver_state }
    const { phases } = (await this.projection(id)).story
    const announced = Date.parse(phases.at(-1)?.at ?? '')
    const isNewer = Number.isNaN(announced) || (snapshot?.savedMs ?? 0) > announced
    return { ...record, resolver_state, phase: isNewer ? named : record.phase }
  }

  async story(id: string): Promise<Story> {
    return structuredClone((await this.projection(id)).story)
  }

  async inputRequests(id: string, status?: RequestStatus): Promise<InputRequest[]> {
    const { story } = await this.projection(id)
    return story.requests
      .filter((request) => status === undefined || request.status === status)
      .map(({ id: requestId, prompt, schema, status: now }) => ({ id: requestId, prompt, schema, status: now }))
  }

  async messages(id: string, after: number): Promise<SentMessage[]> {
    const { story, inbox } = await this.projection(id)
    const page: SentMessage[] = []
    let bytes = 0
    for (const message of story.messages) {
      if (message.number <= after) continue
      const kept = inbox.message(message.number)
      const payload = kept === undefined ? {} : readPayload(kept)
      bytes += JSON.stringify(payload).length
      if (page.length > 0 && bytes > PAGE_MAX_BYTES) break
      page.push({ ...message, payload })
    }
    return page
  }

  data(id: string, path: string, choose: (bytes: number) => ByteRange = wholeFile): DataContent {
    const file = openData(this.paths(id), path)
    try {
      const { from, to } = choose(file.bytes)
      return { bytes: file.bytes, modified_at: new Date(file.modifiedMs).toISOString(), stream: file.read(from, to) }
    } catch (error) {
      file.close()
      throw error
    }
  }

  /** Not to be kept: the story of a hosted instance changes with its events. */
  async projection(id: string): Promise<JournalProjection> {
    return this.#hosts.get(id)?.ledger ?? (await this.journals.read(this.paths(id).journal))
  }
}

const wholeFile = (bytes: number): ByteRange => ({ from: 0, to: bytes })
