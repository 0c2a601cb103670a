/** The outbox of one instance while a process works on it: sends to each target what it has not got. {@link file://./sender.ts} opens it. */
import { failpoint } from '../failpoints.ts'
import { NOTIFY_GIVE_UP_MS, NOTIFY_RETRY_MAX_MS, NOTIFY_RETRY_MIN_MS } from '../limits.ts'
import { backoffMs } from '../primitives/backoff.ts'
import type { Notice } from '../protocol/api/notify.ts'
import type { CreationRecord } from '../protocol/journal.ts'
import { instancePaths } from '../store/home.ts'
import { parseEnvelope } from '../store/journal-line.ts'
import { JournalReader, readCreationRecord } from '../store/journal-reader.ts'
import { noticeOf } from './notices.ts'
import { type Cursor, type Cursors, FIRST, writeCursors } from './outbox.ts'
import type { TargetEntry } from './target-file.ts'

/** The outbox of one instance, held by this process. */
export class Box {
  readonly #home: string
  readonly #id: string
  readonly #journal: string
  readonly #creation: CreationRecord
  readonly #cursors: Cursors

  constructor(home: string, id: string, cursors: Cursors) {
    this.#home = home
    this.#id = id
    this.#journal = instancePaths(home, id).journal
    this.#creation = readCreationRecord(this.#journal)
    this.#cursors = cursors
  }

  get cursors(): Cursors {
    return this.#cursors
  }

  /** Whether the instance is one that the target is told of. */
  isFor({ resolver }: TargetEntry): boolean {
    return resolver === null || resolver === this.#creation.resolver.name
  }

  /** Sends what one target has not got, in order, up to a failure or the signal. Returns whether something is left. */
  async send(target: TargetEntry, signal: AbortSignal): Promise<boolean> {
    let cursor = this.#cursors[target.id] ?? FIRST
    for (;;) {
      if (cursor.next_at > Date.now() || signal.aborted) return true
      const notice = this.#next(target, cursor.after)
      if (notice === undefined) return false
      failpoint('outbox.sending')
      // Loaded with the first notice: most commands send none.
      const { sendNotice } = await import('./send.ts')
      const error = await sendNotice(this.#home, target, notice)
      failpoint('outbox.sent')
      cursor = moved(cursor, notice, error, Date.now())
      this.#cursors[target.id] = cursor
      writeCursors(this.#home, this.#id, this.#cursors)
      if (cursor.tries > 0) return true
    }
  }

  #next({ events, created_at }: TargetEntry, after: number): Notice | undefined {
    const reader = new JournalReader(this.#journal, after)
    try {
      for (let lines = reader.read(); lines.length > 0; lines = reader.read()) {
        for (const { seq, text } of lines) {
          if (seq <= after || !CANDIDATE.test(text)) continue
          const event = parseEnvelope(text)
          const notice = event === undefined ? undefined : noticeOf(this.#creation, seq, event)
          if (notice !== undefined && events.includes(notice.event) && notice.at >= created_at) return notice
        }
      }
      return undefined
    } finally {
      reader.close()
    }
  }
}

/** Most lines are of the resolver, and are not parsed. */
const CANDIDATE = /"platform\.(?:input\.requested|instance\.status_changed)"/

/** The cursor after a try: past the notice, or with the time of the next try. Pure but for the jitter. */
export function moved(cursor: Cursor, { seq }: Notice, error: string | undefined, now: number): Cursor {
  if (error === undefined) return { ...FIRST, after: seq, given_up: cursor.given_up }
  const since = cursor.failing_since ?? new Date(now).toISOString()
  if (now - Date.parse(since) >= NOTIFY_GIVE_UP_MS) {
    return { ...FIRST, after: seq, given_up: cursor.given_up + 1, last_error: error }
  }
  const pause = backoffMs(cursor.tries, NOTIFY_RETRY_MIN_MS, NOTIFY_RETRY_MAX_MS) * (0.5 + Math.random())
  return { ...cursor, tries: cursor.tries + 1, next_at: now + pause, failing_since: since, last_error: error }
}
