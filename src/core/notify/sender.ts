/**
 * Sends what is in the outbox, in the background of a process that hosts instances, and of `serve`. One process at a time works on an
 * instance. A target that fails is tried again with growing pauses, and does not delay the others.
 */
import { existsSync, statSync } from 'node:fs'
import { systemCode } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import { tryLock } from '../files/lock.ts'
import {
  NOTIFY_CLOSE_LIMIT_MS,
  NOTIFY_GIVE_UP_MS,
  NOTIFY_RETRY_MAX_MS,
  NOTIFY_RETRY_MIN_MS,
  NOTIFY_SWEEP_MS,
} from '../limits.ts'
import { backoffMs } from '../primitives/backoff.ts'
import { within } from '../primitives/within.ts'
import type { Notice, NotifyTarget } from '../protocol/api/notify.ts'
import type { CreationRecord } from '../protocol/journal.ts'
import { isTerminal } from '../protocol/status.ts'
import { instancePaths } from '../store/home.ts'
import { parseEnvelope } from '../store/journal-line.ts'
import { JournalReader, readCreationRecord } from '../store/journal-reader.ts'
import { readRecordInTurns } from '../store/record.ts'
import type { Story } from '../view/story.ts'
import { noticeOf } from './notices.ts'
import {
  type Cursor,
  type Cursors,
  FIRST,
  instancesInOutbox,
  openOutbox,
  outboxPath,
  readCursors,
  removeOutbox,
  writeCursors,
} from './outbox.ts'
import { readTargetFile, type TargetEntry, targetsPath } from './target-file.ts'

export class NotifySender {
  readonly #home: string
  /** The instances that this process hosts or has hosted, with the size of their journal when they were last worked on. */
  readonly #watched = new Map<string, number>()
  /** How far the targets were when everything of an instance that had ended was sent. */
  readonly #sent = new Map<string, Cursors>()
  /** Where nothing is to do before a time, or before the journal has grown. */
  readonly #idle = new Map<string, { bytes: number; dueAt: number }>()
  #targets = ''
  #timer: NodeJS.Timeout | undefined
  #sweeping: Promise<void> | undefined
  #closed = false

  constructor(home: string) {
    this.#home = home
  }

  /** Called when this process has taken over an instance, before it writes an event. Never throws. */
  watch(id: string, story: Story): void {
    this.#watched.set(id, -1)
    try {
      if (!existsSync(targetsPath(this.#home)) || existsSync(outboxPath(this.#home, id))) return
      openOutbox(this.#home, id, this.#cursorsOf(story))
    } catch (error) {
      process.emitWarning(`Notifications of ${id} may be missing: ${systemCode(error) ?? String(error)}`)
    } finally {
      this.start()
    }
  }

  /** An instance that has ended without a file has nothing left to send: only what is written from now on counts, such as a resumed run. */
  #cursorsOf({ status, lastSeq: after }: Story): Cursors {
    if (!isTerminal(status)) return {}
    return Object.fromEntries(readTargetFile(this.#home).map((target) => [target.id, { ...FIRST, after }]))
  }

  /** From now on this process sends what is due, for all instances of the home. */
  start(): void {
    if (this.#closed) return
    this.#timer ??= setInterval(() => void this.#sweepOnce(), NOTIFY_SWEEP_MS).unref()
  }

  /** Sends what is due, for a short time; the next process continues with the rest. */
  async close(): Promise<void> {
    this.#closed = true
    if (this.#timer === undefined) return
    clearInterval(this.#timer)
    await within(NOTIFY_CLOSE_LIMIT_MS, this.#sweeping ?? Promise.resolve())
    await within(NOTIFY_CLOSE_LIMIT_MS, this.#sweep())
  }

  async #sweepOnce(): Promise<void> {
    if (this.#sweeping !== undefined || this.#closed) return
    this.#sweeping = this.#sweep().finally(() => {
      this.#sweeping = undefined
    })
    await this.#sweeping
  }

  /** Never throws: a home in trouble is reported by others, and the next sweep tries again. */
  async #sweep(): Promise<void> {
    try {
      const waiting = instancesInOutbox(this.#home)
      const targets = readTargetFile(this.#home)
      if (targets.length === 0 && waiting.length === 0) return
      for (const id of this.#watched.keys())
        if (targets.length > 0 && !waiting.includes(id)) this.#openAgain(id, waiting)
      const known = targets.map(({ id }) => id).join()
      if (known !== this.#targets) this.#idle.clear()
      this.#targets = known
      await Promise.all(waiting.map((id) => this.#work(id, targets).catch(() => {})))
    } catch {
      // Read again at the next sweep.
    }
  }

  /** The first target was added while the instance was running, or it went on after everything was sent. */
  #openAgain(id: string, waiting: string[]): void {
    const bytes = journalBytes(this.#home, id)
    if (bytes === this.#watched.get(id)) return
    openOutbox(this.#home, id, this.#sent.get(id))
    waiting.push(id)
  }

  async #work(id: string, targets: readonly TargetEntry[]): Promise<void> {
    const bytes = journalBytes(this.#home, id)
    if (bytes === undefined) return removeOutbox(this.#home, id)
    const idle = this.#idle.get(id)
    if (idle?.bytes === bytes && Date.now() < idle.dueAt) return
    const release = await tryLock(`${outboxPath(this.#home, id)}.lock`)
    if (release === undefined) return
    try {
      const cursors = readCursors(this.#home, id)
      if (cursors === undefined) return
      const box = new Box(this.#home, id, cursors)
      const left = await Promise.all(targets.map((target) => box.send(target)))
      const due = left.map((isLeft, at) =>
        isLeft ? (cursors[targets[at]?.id ?? '']?.next_at ?? 0) : Number.POSITIVE_INFINITY,
      )
      this.#idle.set(id, { bytes, dueAt: Math.min(Number.POSITIVE_INFINITY, ...due) })
      const hasEnded = isTerminal((await readRecordInTurns(instancePaths(this.#home, id))).status)
      const isDone = hasEnded && left.every((isLeft) => !isLeft) && bytes === journalBytes(this.#home, id)
      if (isDone && !Object.values(cursors).some(({ given_up }) => given_up > 0)) removeOutbox(this.#home, id)
      if (!isDone) return
      this.#watched.set(id, bytes)
      this.#sent.set(id, cursors)
    } finally {
      await release()
    }
  }
}

/** The outbox of one instance, held by this process. */
class Box {
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

  /** Sends what one target has not got, in order, up to a failure. Returns whether something is left. */
  async send(target: TargetEntry): Promise<boolean> {
    const isMeant = target.resolver === null || target.resolver === this.#creation.resolver.name
    if (!isMeant) return false
    let cursor = this.#cursors[target.id] ?? FIRST
    for (;;) {
      if (cursor.next_at > Date.now()) return true
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

function journalBytes(home: string, id: string): number | undefined {
  return statSync(instancePaths(home, id).journal, { throwIfNoEntry: false })?.size
}

/** The targets with what waits for them. Throws `notify_broken`. */
export function listTargets(home: string): NotifyTarget[] {
  const all = instancesInOutbox(home).map((id) => readCursors(home, id) ?? {})
  return readTargetFile(home).map((target) => describeTarget(target, all))
}

export function describeTarget(target: TargetEntry, all: readonly Cursors[] = []): NotifyTarget {
  const { id, sealed: _, ...shown } = target
  const own = all.flatMap((cursors) => cursors[id] ?? [])
  const failing = own.filter(({ failing_since }) => failing_since !== null)
  const [oldest = null] = failing.map(({ failing_since }) => failing_since).sort()
  const [last = null] = own.map(({ last_error }) => last_error).filter((error) => error !== null)
  return {
    ...shown,
    waiting: failing.length,
    given_up: own.reduce((sum, { given_up }) => sum + given_up, 0),
    failing_since: oldest,
    last_error: last,
  }
}
