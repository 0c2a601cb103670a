/**
 * The state of an instance as its host knows it, and the only code that writes it. Each line goes to the journal first, then
 * into the story, which readers see, or into the inbox, which only the host uses.
 */
import { dirname } from 'node:path'
import { fail, ResolveError } from '../../errors.ts'
import { failpoint } from '../../failpoints.ts'
import { READ_SLICE_MS } from '../../limits.ts'
import { inTurns } from '../../primitives/in-turns.ts'
import type { EventData } from '../../protocol/api/events.ts'
import { EVENT_SCHEMA_VERSION, type EventEnvelope, type PlatformEvent } from '../../protocol/event.ts'
import type { Payload } from '../../protocol/form.ts'
import type { InstanceError } from '../../protocol/instance.ts'
import { LABELS_MAX, type LabelChanges, withLabels } from '../../protocol/instance.ts'
import type { AdmissionMark, AnswerIntent, MessageIntent, PrivateLine, StopIntent } from '../../protocol/journal.ts'
import { canMove, type Status } from '../../protocol/status.ts'
import { Redactor, redactorOf } from '../../redaction/redact.ts'
import { bootId, type Inbox, type KeptAnswer, type KeptMessage, readPayload } from '../../store/inbox.ts'
import type { Place } from '../../store/journal-line.ts'
import {
  applyAdmission,
  type JournalProjection,
  type JournalProjector,
  projectInTurns,
  readJournalInTurns,
} from '../../store/journal-projection.ts'
import { type Entry, freeze, JournalWriter } from '../../store/journal-writer.ts'
import { hasMailboxLayout, readMailboxLayout, removeMailboxLayout } from '../../store/mailbox-layout.ts'
import { writeRecord } from '../../store/record.ts'
import { applyEvent, pendingRequests, type Story, tellStop } from '../../view/story.ts'

const RECORD_DELAY_MS = 250
const OPEN_TRIES_MAX = 5

/** A line of the resolver that was checked and may be forwarded. */
export interface ForwardedLine {
  text: string
  event: EventEnvelope
  sourceEnd: number
}

/** An event of the platform, before it has a number and a time. */
export type News = { [T in PlatformEvent]: { type: T; data: EventData<T> } }[PlatformEvent]

/** What a consumer sends to an instance and the host accepts. */
export type Intent = AnswerIntent | MessageIntent | StopIntent

/** An answer or a message in the inbox; its payload is read from the journal when it is needed. */
export type Kept = KeptAnswer | KeptMessage

/** What people call it; what is absent stays. */
export interface Naming {
  name?: string | null
  labels?: LabelChanges
}

interface LedgerPaths {
  journal: string
  record: string
}

export interface MoveDetails {
  reason?: string
  /** R57: the worker was killed. */
  forced?: true
  output?: string | null
  error?: InstanceError | null
  sessions_used?: number
}

export class Ledger {
  readonly story: Story
  /** What was accepted from consumers, and how much of it was delivered. */
  readonly inbox: Inbox
  readonly #writer: JournalWriter
  readonly #paths: LedgerPaths
  #redactor = Redactor.idle
  readonly #hidden = new Set<string>()
  #recordTimer: NodeJS.Timeout | undefined
  /** Whether the story has changed since the record was saved. */
  #isRecordOld = false
  #closed = false
  #watcher: (event: EventEnvelope) => void = () => {}

  private constructor(writer: JournalWriter, paths: LedgerPaths, { story, inbox }: JournalProjection) {
    this.#writer = writer
    this.#paths = paths
    this.story = story
    this.inbox = inbox
  }

  /**
   * For the owner of the instance only. Throws `journal_broken`, and `disk_full` while converting the layout of an earlier
   * version.
   */
  static async open(paths: LedgerPaths): Promise<Ledger> {
    const { journal } = paths
    if (hasMailboxLayout(dirname(journal))) await takeOver(journal)
    const projector = await soundProjector(journal)
    if (projector?.isGapless) {
      const writer = await openWriter(journal, projector)
      return new Ledger(writer, paths, projector.projection())
    }
    // The journal is damaged: the part that can be trusted goes on, and the damaged file is frozen beside it.
    if (projector === undefined) await inTurns(freeze(journal), READ_SLICE_MS)
    return new Ledger(JournalWriter.open(journal), paths, await readJournalInTurns(journal))
  }

  get status(): Status {
    return this.story.status
  }

  /** The offset up to which the worker's events file is in the journal. */
  get sourceEnd(): number {
    return this.#writer.sourceEnd
  }

  /** From now on these secrets are redacted from everything that goes into the journal (threats B9). */
  hide(secrets: readonly string[]): void {
    const before = this.#hidden.size
    for (const secret of secrets) this.#hidden.add(secret)
    if (this.#hidden.size > before) this.#redactor = redactorOf([...this.#hidden])
  }

  /** Why a session was refused for the budget of the instance; null where none was. */
  get budgetRefusal(): InstanceError | null {
    const { budget_usd, budget_tokens } = this.story.creation
    if (budget_usd === undefined && budget_tokens === undefined) return null
    return this.inbox.turns.budgetRefusal ?? null
  }

  /** The directory of the instance. */
  get directory(): string {
    return dirname(this.#paths.journal)
  }

  /** Called after each event of the platform that this host writes, when story and inbox have it. Must not throw. */
  watch(watcher: (event: EventEnvelope) => void): void {
    this.#watcher = watcher
  }

  get redactor(): Redactor {
    return this.#redactor
  }

  /** Writes an event of the platform. Throws `disk_full`; then nothing was written. */
  record<T extends PlatformEvent>(type: T, data: EventData<T>, sourceEnd: number | null = null): void {
    const event = this.#toEvent({ type, data } as News)
    const first = this.#writer.append([{ text: JSON.stringify(event), sourceEnd }])
    this.#apply(first, event)
  }

  /** Writes an event of the platform; on disk when this returns. Throws `disk_full`. */
  tell({ type, data }: News): void {
    this.record(type, data as never)
    this.sync()
  }

  /** Writes a private line. Throws `disk_full`; then nothing was written. */
  keep(line: PrivateLine): void {
    const { place } = this.#writer.appendPrivate(line)
    this.inbox.take(line.kind, line, place)
    this.#changed()
  }

  /** Records that the resolver acknowledged `run()`. Throws `disk_full`. */
  markRun(incarnation: number): void {
    const boot = bootId()
    this.keep({ kind: 'run', incarnation, ...(boot === undefined ? {} : { boot }) })
  }

  /**
   * Accepts what a consumer sent: its private line and its events are one append and one sync. Throws `disk_full`; then
   * nothing was accepted.
   */
  accept(intent: Intent, news: readonly News[] = []): void {
    const subject = intent.kind === 'stop' && intent.how === 'pause' ? 'pause' : intent.kind
    const events = news.map((one) => this.#toEvent(one))
    const entries = events.map((event): Entry => ({ text: JSON.stringify(event), sourceEnd: null }))
    const { first, place } = this.#writer.appendPrivate(intent, entries)
    this.inbox.take(intent.kind, intent, place)
    tellStop(this.story, this.inbox.toldStop)
    for (const [at, event] of events.entries()) this.#apply(first + at, event)
    failpoint(`${subject}.appended`)
    this.sync()
    failpoint(`${subject}.accepted`)
    const isTold = intent.kind === 'stop' || news.some(({ type }) => type === 'platform.instance.status_changed')
    if (isTold) this.#saveRecord()
  }

  /** Gives the instance another name or other labels; on disk when this returns. Throws `disk_full`, `request_invalid`. */
  rename({ name, labels: changes }: Naming): void {
    const at = new Date().toISOString()
    const { creation } = this.story
    const labels = changes === undefined ? undefined : withLabels(creation.labels ?? {}, changes)
    if (labels !== undefined && Object.keys(labels).length > LABELS_MAX)
      throw fail('request_invalid', { problem: `an instance has at most ${LABELS_MAX} labels` })
    if (name !== undefined) {
      this.keep({ kind: 'name', name, at })
      creation.name = name
    }
    if (labels !== undefined) {
      this.keep({ kind: 'labels', labels, at })
      creation.labels = labels
    }
    this.sync()
    this.#saveRecord()
  }

  /** Records what was found when the input was checked after the setup; on disk when this returns. Throws `disk_full`. */
  admit(mark: AdmissionMark): void {
    this.keep(mark)
    applyAdmission(this.story, mark)
    this.sync()
  }

  /** The payload of an accepted answer or message. Throws the file system's error. */
  payloadOf(kept: { place: Place }): Payload {
    return readPayload(kept)
  }

  /** Appends lines of the resolver in one write. Throws `disk_full`; then none was appended. */
  forward(lines: readonly ForwardedLine[]): void {
    let safe = lines
    let bytes = this.#writer.format(lines)
    // Most lines hold no secret, and one search over all of them shows it.
    if (this.#redactor.suspects(bytes)) {
      safe = lines.map((line) => this.#withoutSecrets(line))
      bytes = this.#writer.format(safe)
    }
    const first = this.#writer.append(safe, bytes)
    for (let at = 0; at < safe.length; at += 1) applyEvent(this.story, first + at, (safe[at] as ForwardedLine).event)
    this.#changed()
  }

  /** The same line where it holds no secret; else with a redacted envelope (docs/decisions/0010-secrets.md). */
  #withoutSecrets(line: ForwardedLine): ForwardedLine {
    if (!this.#redactor.suspects(Buffer.from(line.text))) return line
    const { instance_id, timestamp } = line.event
    const clean = this.#redactor.value(line.event)
    if (clean === line.event) return line
    const event = { ...clean, schema_version: EVENT_SCHEMA_VERSION, instance_id, timestamp }
    return { ...line, event, text: JSON.stringify(event) }
  }

  /**
   * Moves the status. The move is on disk before `run()` is called, so that a power failure never causes a second call, and
   * before the end of an instance is reported. `starting` is not synced, because nothing has happened yet that could be
   * repeated. Throws `invalid_state` for a move that the table does not allow.
   */
  move(to: Status, details: MoveDetails = {}): void {
    const from = this.story.status
    if (!canMove(from, to)) throw fail('invalid_state', { action: `move to ${to}`, status: from })
    this.record('platform.instance.status_changed', { from, to, ...details })
    failpoint('move.recorded')
    if (to !== 'starting') this.sync()
    failpoint('move.synced')
    // The first moves follow each other in a moment, and readers complete the record from the journal.
    if (from !== 'created' && from !== 'starting') this.#saveRecord()
    failpoint('move.saved')
  }

  /** R25: the status is awaiting_input exactly while a request is pending. Repairs what a crash or a full disk left half done. */
  reconcile(): void {
    const isAsking = pendingRequests(this.story).length > 0
    if (isAsking && this.status === 'running') this.move('awaiting_input')
    if (!isAsking && this.status === 'awaiting_input') this.move('running')
  }

  sync(): void {
    this.#writer.sync()
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    if (this.#isRecordOld) this.#saveRecord()
    this.#writer.close()
  }

  #toEvent({ type, data }: News): EventEnvelope {
    return {
      schema_version: EVENT_SCHEMA_VERSION,
      event_type: type,
      instance_id: this.story.creation.instance_id,
      data: this.#redactor.value(data),
      timestamp: new Date().toISOString(),
    }
  }

  #apply(seq: number, event: EventEnvelope): void {
    applyEvent(this.story, seq, event)
    this.inbox.applyEvent(event)
    this.#changed()
    this.#watcher(event)
  }

  #changed(): void {
    this.#isRecordOld = true
    this.#recordTimer ??= setTimeout(() => this.#saveRecord(), RECORD_DELAY_MS).unref()
  }

  #saveRecord(): void {
    clearTimeout(this.#recordTimer)
    this.#recordTimer = undefined
    try {
      writeRecord(this.#paths, this.story)
      this.#isRecordOld = false
    } catch {
      // The record is a cache, which readers complete from the journal. A full disk must not end a run because of it.
    }
  }
}

/** Undefined where a line is damaged. */
async function soundProjector(journal: string): Promise<JournalProjector | undefined> {
  try {
    const projector = await projectInTurns(journal)
    return projector.projection().inbox.damaged > 0 ? undefined : projector
  } catch (error) {
    if (error instanceof ResolveError && error.code === 'journal_broken') return undefined
    throw error
  }
}

/** A former owner may have written until it saw that it is none any more: what it wrote is read too. Throws `ownership_lost`. */
async function openWriter(journal: string, projector: JournalProjector): Promise<JournalWriter> {
  for (let tries = 1; tries <= OPEN_TRIES_MAX; tries += 1) {
    const writer = projector.isCurrent ? JournalWriter.openAt(journal, projector.end) : undefined
    if (writer !== undefined) return writer
    await inTurns(projector.catchUp(), READ_SLICE_MS)
  }
  throw fail('ownership_lost', { path: journal })
}

/** Writes the files of an earlier version into the journal, and removes them. Repeating it changes nothing. */
async function takeOver(journal: string): Promise<void> {
  const root = dirname(journal)
  if (!(await readJournalInTurns(journal)).inbox.isImported) {
    const writer = JournalWriter.open(journal)
    try {
      for (const { line } of readMailboxLayout(root)) writer.appendPrivate(line)
      writer.appendPrivate({ kind: 'imported' })
      writer.sync()
    } finally {
      writer.close()
    }
  }
  removeMailboxLayout(root)
}
