/** What a host knows of an instance, and the only way it makes news: each line goes to the journal first, then into the story. */
import { fail, ResolveError } from '../../errors.ts'
import { failpoint } from '../../failpoints.ts'
import { EVENT_SCHEMA_VERSION, type EventEnvelope, type PlatformEvent } from '../../protocol/event.ts'
import type { InstanceError } from '../../protocol/instance.ts'
import { canMove, type Status } from '../../protocol/status.ts'
import { freeze, JournalWriter } from '../../store/journal-writer.ts'
import { readStory, writeRecord } from '../../store/record.ts'
import { applyEvent, pendingRequests, type Story } from '../../view/story.ts'
import { Redactor } from './redact.ts'

const RECORD_DELAY_MS = 250

/** A line of the resolver that may go on as it is. */
export interface ForwardedLine {
  text: string
  event: EventEnvelope
  sourceEnd: number
}

export interface MoveDetails {
  reason?: string
  output?: string | null
  error?: InstanceError | null
}

export class Ledger {
  readonly story: Story
  readonly #writer: JournalWriter
  readonly #paths: { journal: string; record: string }
  #redactor = Redactor.idle
  #recordTimer: NodeJS.Timeout | undefined
  #closed = false

  private constructor(writer: JournalWriter, paths: { journal: string; record: string }, story: Story) {
    this.#writer = writer
    this.#paths = paths
    this.story = story
  }

  /** For the owner of the instance only. Throws `journal_broken`. */
  static open(paths: { journal: string; record: string }): Ledger {
    let writer = JournalWriter.open(paths.journal)
    let story: Story
    try {
      story = readStory(paths.journal)
    } catch (error) {
      // Damage in the middle: what stands before it is kept, the rest is frozen beside it (on-disk, The journal).
      writer.close()
      if (!(error instanceof ResolveError)) throw error
      writer = JournalWriter.open(freeze(paths.journal))
      story = readStory(paths.journal)
    }
    return new Ledger(writer, paths, story)
  }

  get status(): Status {
    return this.story.status
  }

  /** How far the worker's events file has been carried over. */
  get sourceEnd(): number {
    return this.#writer.sourceEnd
  }

  /** From now on nothing that holds one of these secrets goes into the journal (threats B9). */
  hide(redactor: Redactor): void {
    this.#redactor = redactor
  }

  get redactor(): Redactor {
    return this.#redactor
  }

  /** Writes an event of the platform. Throws `disk_full`, and then nothing was written. */
  record(type: PlatformEvent, data: Record<string, unknown>, sourceEnd: number | null = null): void {
    const event: EventEnvelope = {
      schema_version: EVENT_SCHEMA_VERSION,
      event_type: type,
      instance_id: this.story.creation.instance_id,
      data: this.#redactor.value(data),
      timestamp: new Date().toISOString(),
    }
    const first = this.#writer.append([{ text: JSON.stringify(event), sourceEnd }])
    applyEvent(this.story, first, event)
    this.#changed()
  }

  /** Carries lines of the resolver over, in one write. Throws `disk_full`, and then none was. */
  forward(lines: readonly ForwardedLine[]): void {
    let safe = lines
    let bytes = this.#writer.format(lines)
    // Most lines hold no secret, and one search says so of all of them.
    if (this.#redactor.suspects(bytes)) {
      safe = lines.map((line) => this.#withoutSecrets(line))
      bytes = this.#writer.format(safe)
    }
    const first = this.#writer.append(safe, bytes)
    for (let at = 0; at < safe.length; at += 1) applyEvent(this.story, first + at, (safe[at] as ForwardedLine).event)
    this.#changed()
  }

  /** The very same bytes where they hold no secret; else the envelope written anew (docs/decisions/0010-secrets.md). */
  #withoutSecrets(line: ForwardedLine): ForwardedLine {
    if (!this.#redactor.suspects(Buffer.from(line.text))) return line
    const { event_type: type, data } = line.event
    const clean = { event_type: this.#redactor.text(type), data: this.#redactor.value(data) }
    if (clean.event_type === type && clean.data === data) return line
    const event = { ...line.event, ...clean }
    return { ...line, event, text: JSON.stringify(event) }
  }

  /** Moves the status along the table and puts it on disk. Throws `invalid_state` for a move that is not in it. */
  move(to: Status, details: MoveDetails = {}): void {
    const from = this.story.status
    if (!canMove(from, to)) throw fail('invalid_state', { action: `move to ${to}`, status: from })
    this.record('platform.instance.status_changed', { from, to, ...details })
    failpoint('move.recorded')
    this.sync()
    failpoint('move.synced')
    this.#saveRecord()
    failpoint('move.saved')
  }

  /** R25: awaiting_input holds exactly while a request is pending. Mends what a crash or a full disk left half done. */
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
    this.#saveRecord()
    this.#writer.close()
  }

  #changed(): void {
    this.#recordTimer ??= setTimeout(() => this.#saveRecord(), RECORD_DELAY_MS).unref()
  }

  #saveRecord(): void {
    clearTimeout(this.#recordTimer)
    this.#recordTimer = undefined
    try {
      writeRecord(this.#paths, this.story)
    } catch {
      // A cache: what it lacks is read from the journal. A full disk must not end a run because of it.
    }
  }
}
