/**
 * Reads everything about an instance, whether this process hosts it or not: record, story, input requests, messages and
 * files.
 */
import { existsSync } from 'node:fs'
import { fail } from '../../errors.ts'
import { openData } from '../../host/ingest/instance-files.ts'
import type { HostProcess } from '../../host/process/host-process.ts'
import { PAGE_MAX_BYTES } from '../../limits.ts'
import type { InputRequest, InstanceRecord, RequestStatus, SentMessage } from '../../protocol/instance.ts'
import { type InstancePaths, instancePaths, isInstanceId } from '../../store/home.ts'
import { readPayload } from '../../store/inbox.ts'
import { type JournalProjection, readJournal } from '../../store/journal-projection.ts'
import { readRecord, toRecord } from '../../store/record.ts'
import type { Story } from '../../view/story.ts'
import type { ByteRange, DataContent } from '../platform.ts'
import { readSoundState } from './sound-reads.ts'

export class Reads {
  readonly #home: string
  readonly #hosts: HostProcess

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

  record(id: string): InstanceRecord {
    const paths = this.paths(id)
    const state = readSoundState(paths)
    const held = this.#hosts.get(id)
    const record = held === undefined ? readRecord(paths) : toRecord(held.ledger.story)
    const phase = record.phase ?? (typeof state?.['phase'] === 'string' ? state['phase'] : null)
    return { ...record, resolver_state: state, phase }
  }

  story(id: string): Story {
    return structuredClone(this.#journal(id).story)
  }

  inputRequests(id: string, status?: RequestStatus): InputRequest[] {
    return this.#journal(id)
      .story.requests.filter((request) => status === undefined || request.status === status)
      .map(({ id: requestId, prompt, schema, status: now }) => ({ id: requestId, prompt, schema, status: now }))
  }

  messages(id: string, after: number): SentMessage[] {
    const { story, inbox } = this.#journal(id)
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
  #journal(id: string): JournalProjection {
    return this.#hosts.get(id)?.ledger ?? readJournal(this.paths(id).journal)
  }
}

const wholeFile = (bytes: number): ByteRange => ({ from: 0, to: bytes })
