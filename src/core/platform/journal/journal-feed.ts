/**
 * Reads one instance's journal for all its readers in this process (R15, threats WEB-11). A reader is only an offset, so a
 * thousand readers at the same offset cost one read and one formatting. The HTTP event stream reads pages from it; {@link
 * file://./follow.ts} reads lines.
 */
import * as fs from 'node:fs'
import { fail } from '../../errors.ts'
import { SWEEP_MS } from '../../limits.ts'
import type { JournalLine } from '../../store/journal-line.ts'
import { linesIn, offsetAfter, openJournal, readWholeLines, seekAfter } from '../../store/journal-reader.ts'
import { formatPage, type Page } from './journal-page.ts'

export type { Page } from './journal-page.ts'

/** Bytes per read; a longer line is read whole. */
const PAGE_BYTES = 64 * 1024
/** Bytes of formatted pages that one feed caches, for readers close to each other. */
const KEPT_BYTES = 1024 * 1024
/** The longest pause between two notifications, which gives readers larger pages. */
const PAUSE_MAX_MS = 25
/** The interval at which the feed makes sure that the instance has a host. */
const ATTEND_MS = 2_000

/** Parsed journal lines. */
export interface Stretch {
  lines: JournalLine[]
  /** The offset after these lines. */
  next: number
  count: number
}

/** The platform's part in a feed: it gets an orphaned instance a host, and knows whether the instance has ended. */
export interface FedInstance {
  ensureHost: () => Promise<void>
  hasEnded: () => boolean
}

export class JournalFeed {
  readonly #path: string
  readonly #instance: FedInstance
  #file: { fd: number; ino: number }
  /** The size of the journal at the last check. */
  #size = 0
  /** The size of the journal at the last notification of the followers. */
  #notifiedSize = 0
  /**
   * An offset after which the journal has only private lines or an unfinished line: until the journal grows, there is no
   * event.
   */
  #emptyFrom = -1
  readonly #pages = new Map<number, Page>()
  #keptBytes = 0
  readonly #followers = new Set<() => void>()
  #stopListening: (() => void) | undefined
  #cancelNotification: (() => void) | undefined
  #pauseUntil = 0
  #isNotifying = false
  #hasEnded = false
  #trouble: unknown

  /** Throws `journal_broken`, or the file system's error where the journal cannot be opened. */
  constructor(path: string, instance: FedInstance) {
    this.#path = path
    this.#instance = instance
    this.#file = openFile(path)
    this.#updateSize()
  }

  /** Whether the instance is known to have ended. A reader at the end of the journal has then seen everything. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Why the last try to get the instance a host failed. */
  get trouble(): unknown {
    return this.#trouble
  }

  /** Like {@link cursor}, but a number beyond the end gives the offset of the next event. */
  seek(after: number): number {
    this.#updateSize()
    return seekAfter(this.#file.fd, after)
  }

  /** The offset after event number `after`; 0 gives the offset before the first event. Throws `cursor_unknown`. */
  cursor(after: number): number {
    const offset = Number.isSafeInteger(after) && after >= 0 ? offsetAfter(this.#file.fd, after) : undefined
    if (offset === undefined) throw fail('cursor_unknown', { cursor: String(after) })
    this.#updateSize()
    return offset
  }

  /** The next page from `offset` on; undefined at the end of the journal as of the last check. Throws `journal_broken`. */
  read(offset: number): Page | undefined {
    const kept = this.#pages.get(offset)
    if (kept !== undefined) return kept
    const page = this.#next(offset, (bytes, at) => formatPage(this.#path, bytes, at))
    if (page === undefined) return undefined
    if (page.isFinal) this.#hasEnded = true
    this.#keep(offset, page)
    return page
  }

  /** Like {@link read}, as lines. They are not cached. */
  readLines(offset: number): Stretch | undefined {
    return this.#next(offset, (bytes, at) => {
      const lines = linesIn(this.#path, bytes)
      return { lines, next: at + bytes.length, count: lines.length }
    })
  }

  /** Applies `make` to the next bytes from `offset` on; skips bytes that have only private lines. */
  #next<T extends { next: number; count: number }>(
    offset: number,
    make: (bytes: Buffer, at: number) => T,
  ): T | undefined {
    // The last page may reach further than the journal did at the last check.
    if (offset > this.#size) this.#updateSize()
    if (offset > this.#size) throw fail('journal_broken', { path: this.#path, reason: 'it was truncated' })
    if (offset === this.#size || offset === this.#emptyFrom) return undefined
    for (let at = offset; ; ) {
      const bytes = readWholeLines(this.#file.fd, at, PAGE_BYTES, this.#path)
      if (bytes === undefined) break
      const made = make(bytes, at)
      if (made.count > 0) return made
      at = made.next
    }
    this.#emptyFrom = offset
    return undefined
  }

  /** Calls `onNews` when the journal has grown or the instance has ended. Returns the function that stops it. */
  follow(onNews: () => void): () => void {
    this.#followers.add(onNews)
    if (!this.#hasEnded) this.#hasEnded = this.#instance.hasEnded()
    this.#stopListening ??= this.#listen()
    this.#updateSize()
    return () => {
      this.#followers.delete(onNews)
      if (this.#followers.size === 0) this.#stop()
    }
  }

  close(): void {
    this.#stop()
    fs.closeSync(this.#file.fd)
  }

  /** Updates the known size of the journal. */
  #updateSize(): void {
    const { size } = fs.fstatSync(this.#file.fd)
    if (size === this.#size) return
    this.#size = size
    this.#emptyFrom = -1
  }

  #keep(offset: number, page: Page): void {
    this.#pages.set(offset, page)
    this.#keptBytes += page.frames.length
    for (const [oldest, { frames }] of this.#pages) {
      if (this.#keptBytes <= KEPT_BYTES || this.#pages.size === 1) return
      this.#pages.delete(oldest)
      this.#keptBytes -= frames.length
    }
  }

  /** The file watch is fast, the timer is reliable (architecture, decision 3). */
  #listen(): () => void {
    const onChange = () => this.#notifySoon()
    const sweep = setInterval(onChange, SWEEP_MS).unref()
    const check = setInterval(() => void this.#checkInstance(), ATTEND_MS).unref()
    let watcher: fs.FSWatcher | undefined
    try {
      watcher = fs.watch(this.#path, { persistent: false }, onChange)
      watcher.on('error', () => watcher?.close())
    } catch {
      // This machine may have no watches left; the timer is enough.
    }
    return () => {
      clearInterval(sweep)
      clearInterval(check)
      watcher?.close()
    }
  }

  #stop(): void {
    this.#stopListening?.()
    this.#stopListening = undefined
    this.#cancelNotification?.()
    this.#cancelNotification = undefined
  }

  /**
   * Schedules a notification, unless one is scheduled or running. After each one the feed pauses for as long as it took, so
   * that many readers get larger pages.
   */
  #notifySoon(): void {
    if (this.#isNotifying || this.#followers.size === 0 || this.#cancelNotification !== undefined) return
    const wait = this.#pauseUntil - performance.now()
    // A timer takes at least a millisecond.
    if (wait <= 0) {
      const round = setImmediate(() => this.#notify())
      this.#cancelNotification = () => clearImmediate(round)
    } else {
      const round = setTimeout(() => this.#notify(), wait)
      this.#cancelNotification = () => clearTimeout(round)
    }
  }

  #notify(): void {
    this.#cancelNotification = undefined
    this.#updateSize()
    // Compares with the size of the last notification: a read in between may have noticed the growth already.
    if (this.#size === this.#notifiedSize) return
    const begin = performance.now()
    this.#isNotifying = true
    this.#notifyFollowers()
    // The sockets' writes run before this callback. They are most of the work, and count as its time.
    setImmediate(() => {
      this.#isNotifying = false
      const end = performance.now()
      this.#pauseUntil = end + Math.min(end - begin, PAUSE_MAX_MS)
      this.#notifySoon()
    })
  }

  #notifyFollowers(): void {
    this.#updateSize()
    this.#notifiedSize = this.#size
    for (const onNews of [...this.#followers]) onNews()
  }

  async #checkInstance(): Promise<void> {
    try {
      this.#reopenIfReplaced()
      if (this.#hasEnded) return
      this.#trouble = await this.#ensureHost()
    } catch {
      // The journal cannot be opened now. The next check tries again; readers keep the open file.
    }
    // Without followers the feed, and its file, may be closed by now.
    if (this.#followers.size === 0) return
    if (this.#hasEnded || this.#trouble !== undefined) this.#notifyFollowers()
  }

  /** Returns why the instance cannot have a host now; the next check tries again. */
  async #ensureHost(): Promise<unknown> {
    try {
      await this.#instance.ensureHost()
      this.#hasEnded = this.#instance.hasEnded()
      return undefined
    } catch (error) {
      return error
    }
  }

  /**
   * A damaged journal was replaced: its trusted part is now in another file, with the same lines at the same offsets. Opens
   * that file.
   */
  #reopenIfReplaced(): void {
    const now = fs.statSync(this.#path, { throwIfNoEntry: false })
    if (now === undefined || now.ino === this.#file.ino) return
    const fresh = openFile(this.#path)
    fs.closeSync(this.#file.fd)
    this.#file = fresh
    this.#pages.clear()
    this.#keptBytes = 0
    this.#stopListening?.()
    this.#stopListening = this.#listen()
    this.#notifyFollowers()
  }
}

function openFile(path: string): { fd: number; ino: number } {
  // Non-blocking, so that a FIFO in place of the journal cannot block.
  const fd = openJournal(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK)
  const stat = fs.fstatSync(fd)
  if (stat.isFile()) return { fd, ino: stat.ino }
  fs.closeSync(fd)
  throw fail('journal_broken', { path, reason: 'it is not a regular file' })
}

/** A reader's reference to a feed. */
export interface HeldFeed {
  feed: JournalFeed
  /** Releases the reference; the last release closes the feed. A second call has no effect. */
  release: () => void
}

/** The feeds of this process, one for each journal that has a reader. */
export class JournalFeeds {
  readonly #feeds = new Map<string, { feed: JournalFeed; holders: number }>()

  /** The number of open journals. */
  get size(): number {
    return this.#feeds.size
  }

  hold(journal: string, instance: FedInstance): HeldFeed {
    const held = this.#feeds.get(journal) ?? { feed: new JournalFeed(journal, instance), holders: 0 }
    this.#feeds.set(journal, held)
    held.holders += 1
    let isReleased = false
    const release = () => {
      if (isReleased) return
      isReleased = true
      held.holders -= 1
      if (held.holders > 0) return
      this.#feeds.delete(journal)
      held.feed.close()
    }
    return { feed: held.feed, release }
  }
}
