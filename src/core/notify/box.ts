/** The outbox of one instance while a process works on it: sends to each target what it has not got. {@link file://./sender.ts} opens it. */
import { failpoint } from '../failpoints.ts'
import { NOTIFY_GIVE_UP_MS, NOTIFY_RETRY_MAX_MS, NOTIFY_RETRY_MIN_MS } from '../limits.ts'
import { backoffMs } from '../primitives/backoff.ts'
import type { Notice } from '../protocol/api/notify.ts'
import type { NoticeScan } from './notice-scan.ts'
import { type Cursor, type Cursors, FIRST, markSending, writeCursors } from './outbox.ts'
import type { TargetEntry } from './target-file.ts'

/** The outbox of one instance, held by this process. */
export class Box {
  readonly #home: string
  readonly #id: string
  readonly #scan: NoticeScan
  readonly #cursors: Cursors

  constructor(home: string, id: string, scan: NoticeScan, cursors: Cursors) {
    this.#home = home
    this.#id = id
    this.#scan = scan
    this.#cursors = cursors
  }

  get cursors(): Cursors {
    return this.#cursors
  }

  /** Undefined where what was read does not tell. */
  get hasEnded(): boolean | undefined {
    return this.#scan.hasEnded
  }

  /** How far the targets are, past what was read and is not for them. */
  passed(targets: readonly TargetEntry[]): Cursors {
    const passed = targets.map(({ id }): [string, Cursor] => {
      const cursor = this.#cursors[id] ?? FIRST
      return [id, { ...cursor, after: this.#scan.passedBy(id, cursor.after) }]
    })
    return { ...this.#cursors, ...Object.fromEntries(passed) }
  }

  /** The target that is furthest behind first: the journal is then read from there, once for all. */
  inOrder(targets: readonly TargetEntry[]): TargetEntry[] {
    const afterOf = ({ id }: TargetEntry) => this.#scan.passedBy(id, this.#cursors[id]?.after ?? 0)
    return targets.toSorted((a, b) => afterOf(a) - afterOf(b))
  }

  /** Whether the instance is one that the target is told of. */
  isFor({ resolver }: TargetEntry): boolean {
    return resolver === null || resolver === this.#scan.creation.resolver.name
  }

  /** Sends what one target has not got, in order, up to a failure or the signal. Returns whether something is left. */
  async send(target: TargetEntry, signal: AbortSignal): Promise<boolean> {
    let cursor = this.#cursors[target.id] ?? FIRST
    for (;;) {
      if (cursor.next_at > Date.now() || signal.aborted) return true
      const notice = await this.#scan.next(target, cursor.after, signal)
      if (notice === undefined) return signal.aborted
      if (cursor.failing_since === null) {
        this.#cursors[target.id] = { ...cursor, sending: true }
        markSending(this.#home, this.#id, this.#cursors)
      }
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
}

/** The cursor after a try: past the notice, or with the time of the next try. Pure but for the jitter. */
export function moved(cursor: Cursor, { seq }: Notice, error: string | undefined, now: number): Cursor {
  if (error === undefined) return { ...FIRST, after: seq, given_up: cursor.given_up }
  const since = cursor.failing_since ?? new Date(now).toISOString()
  if (now - Date.parse(since) >= NOTIFY_GIVE_UP_MS) {
    return { ...FIRST, after: seq, given_up: cursor.given_up + 1, last_error: error }
  }
  const pause = backoffMs(cursor.tries, NOTIFY_RETRY_MIN_MS, NOTIFY_RETRY_MAX_MS) * (0.5 + Math.random())
  const { sending: _, ...kept } = cursor
  return { ...kept, tries: cursor.tries + 1, next_at: now + pause, failing_since: since, last_error: error }
}
