/**
 * The monitor copies what a resolver writes into the journal: events line by line, input requests as their files appear (spec,
 * Events). The host runs one for each instance.
 */

import { passesWithTime, ResolveError, systemCode } from '../../errors.ts'
import { failpoint } from '../../failpoints.ts'
import type { Chunk } from '../../files/tail.ts'
import {
  COORDINATION_FILE_MAX_BYTES,
  EVENT_LINE_MAX_BYTES,
  INPUT_REQUESTS_MAX_BYTES,
  INPUT_REQUESTS_MAX_FILES,
  MIB,
} from '../../limits.ts'
import {
  EVENTS_FILE,
  isRequestId,
  REQUESTS_DIR,
  refusalFile,
  requestBeside,
  requestFile,
  responseFile,
} from '../../protocol/coordination.ts'
import type { EventEnvelope } from '../../protocol/event.ts'
import { LineSplitter } from '../../rpc/lines.ts'
import { pendingRequests } from '../../view/story.ts'
import type { CoordinationDirectory, Following } from '../../worker/worker.ts'
import type { ForwardedLine, Ledger } from '../ledger/ledger.ts'
import { judgeChunk } from './event-line.ts'
import { readRequest } from './input-request.ts'
import { FOREIGN_PREFIX, isOwnEvent } from './own-events.ts'
import { isSessionEvent, readSessionEvent } from './session-event.ts'

/** How long a request file may be incomplete before it counts as malformed. */
const HALF_WRITTEN_MS = 2_000
/** The number of bytes read in one turn; the rest waits, so that a fast writer does not starve other instances. */
const CHECK_MAX_BYTES = 1 * MIB
/** After the worker's end, at most this much is searched for the end of a line: a file may claim any size (threats FS-7). */
const LATE_LINE_MAX_BYTES = 64 * MIB
/** Of so many names that are no request ids an event is written. */
const ODD_NAMES_MAX = 20
/** More open requests than this are asked one after another. */
const PENDING_REQUESTS_MAX = 100

export interface MonitorHooks {
  /** Called after each check, whatever it found. */
  onChecked: (swept: boolean) => void
  /** Another host owns the instance now. */
  onOwnershipLost: () => void
  /** Reports a request that cannot be asked, with every reason (R30). */
  onRefused: (requestId: string, errors: readonly string[]) => void
}

export class Monitor {
  readonly #coordination: CoordinationDirectory
  readonly #ledger: Ledger
  readonly #hooks: MonitorHooks
  readonly #following: Following
  readonly #splitter = new LineSplitter(EVENT_LINE_MAX_BYTES)
  #requestBytes: number | undefined
  readonly #settled = new Set<string>()
  readonly #firstSeen = new Map<string, number>()
  readonly #tampered = new Set<string>()
  /** File names of requests that can never be asked. */
  readonly #odd = new Set<string>()
  #rejected: { reason: string; bytes: number; lines: number; detail?: string } | undefined
  #stopWatch: () => void = () => {}
  #scheduled: NodeJS.Immediate | undefined
  /** The request files that were there, and where the events ended then. */
  #listing: { names: ReadonlySet<string>; eventsEnd: number } | undefined
  #isEndless = false
  #closed = false

  constructor(coordination: CoordinationDirectory, ledger: Ledger, hooks: MonitorHooks) {
    this.#coordination = coordination
    this.#ledger = ledger
    this.#hooks = hooks
    this.#following = coordination.follow(EVENTS_FILE, ledger.sourceEnd)
    for (const { id, status, carried } of ledger.story.requests) {
      // One that a lost worker asked is news again when the resumed worker asks it (R58).
      if (status === 'answered' || (status === 'pending' && carried !== true)) this.#settled.add(id)
    }
  }

  /** Checks once at the end of this turn, however often it is called before that. */
  checkSoon(): void {
    this.#scheduled ||= setImmediate(() => {
      this.#scheduled = undefined
      this.check()
    })
  }

  start(): void {
    this.#stopWatch = this.#coordination.watch((swept) => (swept ? this.check(true) : this.checkSoon()))
    this.check(true)
  }

  /**
   * Reads the new lines. Of a large amount it reads a part and schedules the rest. While the disk is full, the rest waits for
   * the next check.
   */
  check(swept = false): void {
    if (this.#closed) return
    this.#carry(swept)
    this.#hooks.onChecked(swept)
  }

  #carry(swept: boolean, isLast = false): void {
    if (swept) this.#guard(() => this.#noticeReset(), isLast)
    this.#guard(() => this.#listRequests(isLast), isLast)
    let isDrained = false
    this.#guard(() => {
      isDrained = this.#carryEvents(isLast)
    }, isLast)
    this.#guard(() => this.#takeListed(isDrained, isLast), isLast)
    this.#guard(() => this.#ledger.reconcile(), isLast)
  }

  /**
   * After the worker's end: reads the last events; an unfinished line is rejected (reliability F10). Throws a failure that passes with time,
   * a full disk or too few file descriptors: no check follows this one, so the caller calls it again.
   */
  finish(): void {
    if (this.#closed) return
    this.#carry(true, true)
    const dropped = this.#splitter.reset()
    if (dropped === 0) return
    const end = this.#following.offset
    const data = { reason: 'unfinished', bytes: dropped }
    this.#guard(() => this.#ledger.record('platform.event.rejected', data, end), true)
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    clearImmediate(this.#scheduled)
    this.#stopWatch()
    this.#following.close()
  }

  #noticeReset(): void {
    if (!this.#following.wasReset()) return
    const dropped = this.#splitter.reset()
    this.#ledger.record('platform.event.rejected', { reason: 'source_reset', bytes: dropped }, 0)
  }

  /** Lines that could not be journaled are read again: the tail goes back to the journal's offset. */
  #guard(step: () => void, isLast = false): void {
    try {
      step()
    } catch (error) {
      // A failure for lack of resources is tried again at the next check, if there is one.
      if (!(error instanceof ResolveError) && systemCode(error) === undefined) throw error
      const code = error instanceof ResolveError ? error.code : undefined
      if (code === 'ownership_lost') this.#hooks.onOwnershipLost()
      this.#splitter.reset()
      this.#rejected = undefined
      this.#following.seek(this.#ledger.sourceEnd)
      if (code === 'coordination_tampered') this.#noteTampering(error as ResolveError)
      if (isLast && passesWithTime(error)) throw error
    }
  }

  #noteTampering(error: ResolveError): void {
    const path = String(error.details['path'])
    if (this.#tampered.has(path)) return
    this.#tampered.add(path)
    const data = { reason: 'coordination_tampered', bytes: 0, detail: error.message }
    this.#guard(() => this.#ledger.record('platform.event.rejected', data))
  }

  /** False where the rest of a large amount waits for the next check. */
  #carryEvents(isLast: boolean): boolean {
    let left = isLast ? Number.POSITIVE_INFINITY : CHECK_MAX_BYTES
    for (let chunk = this.#nextChunk(); chunk !== undefined; chunk = this.#nextChunk()) {
      failpoint('events.read')
      this.#carryChunk(chunk)
      failpoint('events.carried')
      this.#isEndless ||= isLast && this.#splitter.pendingBytes > LATE_LINE_MAX_BYTES
      left -= chunk.bytes.length
      if (left > 0) continue
      this.checkSoon()
      return false
    }
    return true
  }

  #carryChunk({ bytes, end }: Chunk): void {
    const { instance_id: id, resolver } = this.#ledger.story.creation
    let foreign: string | undefined
    let at = end - bytes.length - this.#splitter.pendingBytes
    let batch: ForwardedLine[] = []
    for (const { verdict, size } of judgeChunk(this.#splitter, bytes, id)) {
      at += size
      if (verdict === undefined) continue
      if ('event' in verdict) {
        if (isSessionEvent(verdict.event)) {
          // Which of them are new depends on those before.
          if (batch.length > 0) this.#ledger.forward(batch)
          batch = []
          this.#carrySessionEvent(verdict.event, size, at)
          continue
        }
        this.#flushRejected(at - size)
        batch.push({ text: verdict.text, event: verdict.event, sourceEnd: at })
        if (!isOwnEvent(verdict.event.event_type, resolver.name)) foreign ??= verdict.event.event_type
        continue
      }
      if (batch.length > 0) this.#ledger.forward(batch)
      batch = []
      this.#reject(verdict, size, at)
    }
    if (batch.length > 0) this.#ledger.forward(batch)
    this.#flushRejected(at)
    if (foreign !== undefined) this.#warnOfPrefix(foreign, resolver.name)
  }

  #carrySessionEvent(event: EventEnvelope, bytes: number, end: number): void {
    const news = readSessionEvent(event, this.#ledger.inbox.turns)
    if (news === 'malformed') this.#reject({ reason: 'session_event' }, bytes, end)
    if (news === undefined || news === 'malformed') return
    this.#flushRejected(end - bytes)
    this.#ledger.record(news.type, news.data as never, end)
  }

  /** Once for an instance: the event is forwarded, but consumers look for events under the resolver's name (spec, Events). */
  #warnOfPrefix(type: string, name: string): void {
    if (this.#ledger.inbox.hasWarned(FOREIGN_PREFIX)) return
    const detail = `the event type "${type.slice(0, 64)}" does not begin with the resolver's name (${name}.)`
    this.#ledger.record('platform.watchdog.warning', { kind: FOREIGN_PREFIX, value: 1, limit: 0, detail })
  }

  #nextChunk(): Chunk | undefined {
    return this.#isEndless ? undefined : this.#following.read()
  }

  /** Consecutive lines rejected for the same reason become one event, so that a flood of them stays small. */
  #reject(verdict: { reason: string; detail?: string }, bytes: number, end: number): void {
    if (this.#rejected !== undefined && this.#rejected.reason !== verdict.reason) this.#flushRejected(end - bytes)
    this.#rejected ??= { ...verdict, bytes: 0, lines: 0 }
    this.#rejected.bytes += bytes
    this.#rejected.lines += 1
  }

  #flushRejected(sourceEnd: number): void {
    if (this.#rejected === undefined) return
    this.#ledger.record('platform.event.rejected', this.#rejected, sourceEnd)
    this.#rejected = undefined
  }

  /**
   * Before the events are read: what a resolver wrote before it asked is journaled before the question. A question that came while the
   * events were read is for the next check.
   */
  #listRequests(isLast: boolean): void {
    if ((this.#listing !== undefined && !isLast) || !this.#mayAsk) return
    const names = new Set(this.#coordination.names(REQUESTS_DIR, INPUT_REQUESTS_MAX_FILES * 3))
    this.#listing = { names, eventsEnd: this.#eventsEnd() }
    failpoint('request.listed')
  }

  get #mayAsk(): boolean {
    return this.#ledger.status === 'running' || this.#ledger.status === 'awaiting_input'
  }

  /** 0 where the file cannot be read: to read the events reports it. */
  #eventsEnd(): number {
    try {
      return this.#following.offset + this.#following.behind
    } catch {
      return 0
    }
  }

  #takeListed(isDrained: boolean, isLast: boolean): void {
    if (this.#listing === undefined) return
    const { names, eventsEnd } = this.#listing
    if (!isDrained && this.#following.offset < eventsEnd) return
    this.#listing = undefined
    if (this.#mayAsk) this.#findRequests(names, isLast)
  }

  #findRequests(names: ReadonlySet<string>, isLast: boolean): void {
    for (const name of [...names].sort()) {
      const id = name.endsWith('.json') ? name.slice(0, -'.json'.length) : ''
      if (!isRequestId(id)) this.#noteOddName(name, names, isLast)
      if (!isRequestId(id) || this.#settled.has(id)) continue
      // Answered while its worker was lost: the resumed one finds the answer (R58).
      const isAnswered = this.#ledger.inbox.answer(id) !== undefined
      if (isAnswered || names.has(`${id}.error.json`)) this.#settled.add(id)
      else if (pendingRequests(this.#ledger.story).length < PENDING_REQUESTS_MAX) this.#guard(() => this.#take(id))
    }
  }

  #take(id: string): void {
    const read = readRequest(() => this.#coordination.read(requestFile(id), COORDINATION_FILE_MAX_BYTES), id)
    if (read === undefined) return
    if ('errors' in read) {
      if (!read.mayBeHalf || !this.#isYoung(id)) this.#refuse(id, read.errors)
      return
    }
    const { prompt, schema } = read
    this.#requestBytes ??= bytesOf(this.#ledger.story.requests)
    const bytes = this.#requestBytes + bytesOf([read])
    if (bytes > INPUT_REQUESTS_MAX_BYTES) {
      this.#refuse(id, [`All input requests of an instance together have at most ${INPUT_REQUESTS_MAX_BYTES} bytes.`])
      return
    }
    this.#requestBytes = bytes
    failpoint('request.noticed')
    // A response file that existed before its request is not an answer: it is removed.
    this.#coordination.remove(responseFile(id))
    this.#ledger.record('platform.input.requested', { request_id: id, prompt, schema, status: 'pending' })
    failpoint('request.noted')
    this.#settled.add(id)
  }

  /** A request whose file name is no request id is never asked: an event tells its author why. */
  #noteOddName(name: string, names: ReadonlySet<string>, isLast: boolean): void {
    if (!name.endsWith('.json') || this.#odd.has(name) || this.#odd.size >= ODD_NAMES_MAX) return
    const beside = requestBeside(name)
    const isBeside = this.#ledger.story.requests.some(({ id }) => id === beside) || names.has(`${beside}.json`)
    // A hidden file may be a draft that is about to get its name.
    if (isBeside || (!isLast && this.#isYoung(name))) return
    this.#odd.add(name)
    const detail = `"${name.slice(0, 140)}" is not the name of a request: an id has letters, digits, ".", "_" and "-", begins with a letter or a digit, and does not end in .response, .error or .sent.`
    const request_id = name.slice(0, -'.json'.length).slice(0, 128)
    this.#ledger.record('platform.event.rejected', { reason: 'input_request', bytes: 0, request_id, detail })
  }

  #isYoung(id: string): boolean {
    const seen = this.#firstSeen.get(id) ?? Date.now()
    this.#firstSeen.set(id, seen)
    return Date.now() - seen < HALF_WRITTEN_MS
  }

  #refuse(id: string, errors: readonly string[]): void {
    this.#coordination.put(refusalFile(id), JSON.stringify({ errors }))
    const detail = errors.join(' ').slice(0, 4_000)
    this.#ledger.record('platform.event.rejected', { reason: 'input_request', bytes: 0, request_id: id, detail })
    this.#settled.add(id)
    this.#hooks.onRefused(id, errors)
  }
}

function bytesOf(requests: readonly { prompt: string; schema: unknown }[]): number {
  return requests.reduce((sum, { prompt, schema }) => sum + prompt.length + JSON.stringify(schema).length, 0)
}
