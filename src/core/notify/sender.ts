/**
 * Sends what is in the outbox, in the background of a process that hosts instances, and of `serve`. One process at a time works on an
 * instance. Each target has sendings of its own: one that is slow, or fails and is tried again with growing pauses, does not delay the others.
 */
import { existsSync, statSync } from 'node:fs'
import { systemCode } from '../errors.ts'
import { tryLock } from '../files/lock.ts'
import { NOTIFY_CLOSE_LIMIT_MS, NOTIFY_SWEEP_MS, NOTIFY_TARGET_SENDS } from '../limits.ts'
import { within } from '../primitives/within.ts'
import type { NotifyTarget } from '../protocol/api/notify.ts'
import { isTerminal } from '../protocol/status.ts'
import { instancePaths } from '../store/home.ts'
import { readRecordInTurns } from '../store/record.ts'
import type { Story } from '../view/story.ts'
import { Box } from './box.ts'
import { NoticeScan } from './notice-scan.ts'
import { type Cursors, FIRST, instancesInOutbox, openOutbox, outboxPath, readCursors, removeOutbox } from './outbox.ts'
import { readTargetFile, type TargetEntry, targetsPath } from './target-file.ts'

/** An instance that this process works on. */
interface Held {
  box: Box
  release: () => Promise<void>
  /** The targets that something is being sent to. */
  sending: Set<string>
  /** By target: how large the journal was when the last sending began, and whether something was left at its end. */
  tried: Map<string, { bytes: number; isLeft: boolean }>
}

export class NotifySender {
  readonly #home: string
  /** The instances that this process hosts or has hosted, with the size of their journal when they were last worked on. */
  readonly #watched = new Map<string, number>()
  /** How far the targets were when everything of an instance that had ended was sent. */
  readonly #sent = new Map<string, Cursors>()
  /** Where nothing is to do before a time, or before the journal has grown. */
  readonly #idle = new Map<string, { bytes: number; dueAt: number }>()
  /** What was read of the journals, while something may have to be sent. */
  readonly #scans = new Map<string, NoticeScan>()
  /** The instances whose outbox this process has locked. */
  readonly #held = new Map<string, Held>()
  /** By target: how many sendings to it are under way. */
  readonly #load = new Map<string, number>()
  readonly #sendings = new Set<Promise<void>>()
  readonly #ended = new AbortController()
  /** A target had no room for another sending: it is looked at again when it has. */
  #isCrowded = false
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
    await within(NOTIFY_CLOSE_LIMIT_MS, this.#drain())
    this.#ended.abort()
    await this.#dropIdle()
  }

  /** Until nothing is due that this process could send now. */
  async #drain(): Promise<void> {
    do {
      await this.#sweep()
      await Promise.all(this.#sendings)
    } while (this.#held.size > 0 && !this.#ended.signal.aborted)
  }

  async #sweepOnce(): Promise<void> {
    if (this.#sweeping !== undefined || this.#closed) return
    this.#sweeping = this.#sweep().finally(() => {
      this.#sweeping = undefined
    })
    await this.#sweeping
  }

  /** Begins to send, and does not wait for it. Never throws: a home in trouble is reported by others, and the next sweep tries again. */
  async #sweep(): Promise<void> {
    this.#isCrowded = false
    try {
      const waiting = instancesInOutbox(this.#home)
      const targets = readTargetFile(this.#home)
      if (targets.length === 0 && waiting.length === 0) return
      for (const id of this.#watched.keys())
        if (targets.length > 0 && !waiting.includes(id)) this.#openAgain(id, waiting)
      const known = targets.map(({ id }) => id).join()
      if (known !== this.#targets) this.#idle.clear()
      this.#targets = known
      for (const id of waiting) await this.#work(id, targets).catch(() => {})
      const open = new Set(waiting)
      for (const id of this.#scans.keys()) if (!open.has(id) && !this.#held.has(id)) this.#scans.delete(id)
      // Their outbox or journal was removed meanwhile.
      for (const [id, { sending }] of this.#held) if (sending.size === 0 && !waiting.includes(id)) await this.#drop(id)
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
    const before = this.#held.get(id)
    if (bytes === undefined) {
      if (before !== undefined && before.sending.size > 0) return
      removeOutbox(this.#home, id)
      this.#scans.delete(id)
      return await this.#drop(id)
    }
    const idle = this.#idle.get(id)
    if (before === undefined && idle?.bytes === bytes && Date.now() < idle.dueAt) return
    const held = before ?? (await this.#hold(id))
    if (held === undefined) return
    for (const target of held.box.inOrder(targets)) this.#begin(id, held, target, bytes)
    if (held.sending.size === 0) await this.#letGo(id, held, targets, bytes)
  }

  /** Undefined where another process works on the instance, or has sent everything. */
  async #hold(id: string): Promise<Held | undefined> {
    const release = await tryLock(`${outboxPath(this.#home, id)}.lock`)
    if (release === undefined) return undefined
    try {
      const cursors = readCursors(this.#home, id)
      if (cursors !== undefined) {
        const scan = this.#scans.get(id) ?? new NoticeScan(instancePaths(this.#home, id).journal)
        this.#scans.set(id, scan)
        const held = {
          box: new Box(this.#home, id, scan, cursors),
          release,
          sending: new Set<string>(),
          tried: new Map(),
        }
        this.#held.set(id, held)
        return held
      }
    } catch {
      // Tried again at the next sweep.
    }
    await release()
    return undefined
  }

  /** Begins to send to the target what it has not got: one notice of an instance at a time, so that they stay in order. */
  #begin(id: string, held: Held, target: TargetEntry, bytes: number): void {
    const { box, sending, tried } = held
    const last = tried.get(target.id)
    const isSent = last?.bytes === bytes && !last.isLeft
    if (sending.has(target.id) || isSent) return
    if (!box.isFor(target)) {
      tried.set(target.id, { bytes, isLeft: false })
      return
    }
    if ((box.cursors[target.id]?.next_at ?? 0) > Date.now()) {
      tried.set(target.id, { bytes, isLeft: true })
      return
    }
    const load = this.#load.get(target.id) ?? 0
    if (load >= NOTIFY_TARGET_SENDS) {
      this.#isCrowded = true
      return
    }
    this.#load.set(target.id, load + 1)
    sending.add(target.id)
    const done = this.#send(id, held, target, bytes).finally(() => this.#sendings.delete(done))
    this.#sendings.add(done)
  }

  async #send(id: string, held: Held, target: TargetEntry, bytes: number): Promise<void> {
    const { box, sending, tried } = held
    let isBroken = false
    const isLeft = await box.send(target, this.#ended.signal).catch(() => {
      isBroken = true
      return true
    })
    tried.set(target.id, { bytes, isLeft })
    sending.delete(target.id)
    this.#load.set(target.id, (this.#load.get(target.id) ?? 1) - 1)
    if (isBroken || this.#ended.signal.aborted) {
      // A journal or a disk in trouble is tried again at the next sweep, not at once.
      if (sending.size === 0 && this.#held.get(id) === held) await this.#drop(id)
    }
    // What is done is put away, and the next one gets the room, without the pause until the next sweep.
    else if (sending.size === 0 || this.#isCrowded) void this.#sweepOnce()
  }

  /** Nothing is due now: puts the outbox away where the instance has ended and every target has everything. */
  async #letGo(id: string, held: Held, targets: readonly TargetEntry[], bytes: number): Promise<void> {
    const { cursors } = held.box
    try {
      const left = targets.filter(({ id: target }) => {
        const last = held.tried.get(target)
        return last === undefined || last.isLeft || last.bytes !== bytes
      })
      const dueAt = Math.min(Number.POSITIVE_INFINITY, ...left.map((target) => cursors[target.id]?.next_at ?? 0))
      this.#idle.set(id, { bytes, dueAt })
      // The record of a long journal that grows is behind: to read it would mean reading the rest again at each look.
      const paths = instancePaths(this.#home, id)
      const hasEnded = held.box.hasEnded ?? isTerminal((await readRecordInTurns(paths)).status)
      const isDone = hasEnded && left.length === 0 && bytes === journalBytes(this.#home, id)
      if (isDone && !Object.values(cursors).some(({ given_up }) => given_up > 0)) removeOutbox(this.#home, id)
      if (!isDone) return
      this.#watched.set(id, bytes)
      this.#sent.set(id, held.box.passed(targets))
      this.#scans.delete(id)
    } finally {
      await this.#drop(id)
    }
  }

  async #drop(id: string): Promise<void> {
    const held = this.#held.get(id)
    this.#held.delete(id)
    await held?.release()
  }

  async #dropIdle(): Promise<void> {
    for (const [id, { sending }] of this.#held) if (sending.size === 0) await this.#drop(id)
  }
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
  const unsent = own.filter(({ failing_since, sending }) => failing_since !== null || sending === true)
  const [last = null] = own.map(({ last_error }) => last_error).filter((error) => error !== null)
  return {
    ...shown,
    waiting: unsent.length,
    given_up: own.reduce((sum, { given_up }) => sum + given_up, 0),
    failing_since: oldest,
    last_error: last,
  }
}
