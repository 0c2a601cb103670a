/** Where the notices of a journal are: read once in this process for all targets, in slices. {@link file://./box.ts} asks it. */
import { statSync } from 'node:fs'
import { fail } from '../errors.ts'
import { READ_SLICE_MS } from '../limits.ts'
import { inTurns } from '../primitives/in-turns.ts'
import type { Notice, NotifyEvent } from '../protocol/api/notify.ts'
import type { CreationRecord } from '../protocol/journal.ts'
import { isTerminal, type Status } from '../protocol/status.ts'
import { parseEnvelope } from '../store/journal-line.ts'
import { JournalReader, readCreationRecord } from '../store/journal-reader.ts'
import { noticeOf } from './notices.ts'
import type { TargetEntry } from './target-file.ts'

/** A notice that was found: its text is read again when it is sent. */
interface Found {
  seq: number
  event: NotifyEvent
  at: string
  /** The start of the part of the journal that its line is in. */
  offset: number
}

export class NoticeScan {
  readonly creation: CreationRecord
  readonly #journal: string
  /** Every notice after {@link #begin} that was read so far. */
  readonly #found: Found[] = []
  /** By target: up to which number nothing more is for it. */
  readonly #passed = new Map<string, number>()
  #begin = 0
  #lastSeq = 0
  #ino: number | undefined
  /** Up to where the journal was read; undefined before the first reading. */
  #offset: number | undefined
  #reading: Promise<void> | undefined
  #hasEnded: boolean | undefined

  /** Throws `journal_broken`. */
  constructor(journal: string) {
    this.#journal = journal
    this.creation = readCreationRecord(journal)
  }

  /** Whether the instance had ended where the reading is; undefined where no move was read. */
  get hasEnded(): boolean | undefined {
    return this.#hasEnded
  }

  /** The number up to which a target with this cursor needs nothing more, as far as was read. */
  passedBy(target: string, after: number): number {
    return Math.max(after, this.#passed.get(target) ?? 0)
  }

  /** The first notice for the target after its cursor; undefined where there is none, or after the signal. Throws `journal_broken`. */
  async next(target: TargetEntry, after: number, signal: AbortSignal): Promise<Notice | undefined> {
    // Each call reads to the end that the journal has now; what another call is reading may end earlier.
    while (this.#reading !== undefined) await this.#reading.catch(() => {})
    const reading = inTurns(this.#catchUp(target.id, after, signal), READ_SLICE_MS)
    this.#reading = reading
    try {
      await reading
    } finally {
      this.#reading = undefined
    }
    if (signal.aborted) return undefined
    const from = this.passedBy(target.id, after)
    const { events, created_at } = target
    const isFor = ({ event, at }: Found) => events.includes(event) && at >= created_at
    let index = this.#firstAfter(from)
    while (index < this.#found.length && !isFor(this.#found[index] as Found)) index += 1
    const next = this.#found[index]
    this.#passed.set(target.id, next === undefined ? Math.max(from, this.#lastSeq) : next.seq - 1)
    return next === undefined ? undefined : this.#read(next)
  }

  /** Reads what the journal has grown by. A journal that was replaced is read anew, and one whose begin was not needed before. */
  *#catchUp(target: string, after: number, signal: AbortSignal): Generator<void> {
    const { ino, size } = statSync(this.#journal)
    const isSame = ino === this.#ino && size >= (this.#offset ?? 0)
    // The numbers of a replaced journal can be those of other events.
    if (!isSame) this.#passed.clear()
    const from = this.passedBy(target, after)
    if (!isSame || from < this.#begin) {
      this.#found.length = 0
      this.#offset = this.#hasEnded = undefined
      this.#begin = this.#lastSeq = from
    }
    if (this.#offset === size) return
    const reader = new JournalReader(this.#journal, from, this.#offset)
    try {
      this.#ino = reader.ino
      this.#offset = reader.offset
      for (let lines = reader.read(); lines.length > 0 && !signal.aborted; lines = reader.read()) {
        for (const { seq, text } of lines) {
          const event = CANDIDATE.test(text) ? parseEnvelope(text) : undefined
          if (event?.event_type === 'platform.instance.status_changed') {
            this.#hasEnded = isTerminal(event.data['to'] as Status)
          }
          const notice = event === undefined || seq <= this.#begin ? undefined : noticeOf(this.creation, seq, event)
          if (notice !== undefined) {
            this.#found.push({ seq, event: notice.event, at: notice.at, offset: this.#offset })
          }
          this.#lastSeq = seq
        }
        this.#offset = reader.offset
        yield
      }
    } finally {
      reader.close()
    }
  }

  #firstAfter(seq: number): number {
    let [low, high] = [0, this.#found.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#found[middle] as Found).seq <= seq) low = middle + 1
      else high = middle
    }
    return low
  }

  #read({ seq, offset }: Found): Notice {
    const reader = new JournalReader(this.#journal, 0, offset)
    try {
      const line = reader.ino === this.#ino ? reader.read().find((one) => one.seq === seq) : undefined
      const notice = line === undefined ? undefined : this.#parse(seq, line.text)
      if (notice !== undefined) return notice
    } finally {
      reader.close()
    }
    throw fail('journal_broken', { path: this.#journal, reason: `line ${seq} is not where it was` })
  }

  #parse(seq: number, text: string): Notice | undefined {
    const event = parseEnvelope(text)
    return event === undefined ? undefined : noticeOf(this.creation, seq, event)
  }
}

/** Most lines are of the resolver, and are not parsed. */
const CANDIDATE = /"platform\.(?:input\.requested|instance\.status_changed)"/
