/**
 * One instance's journal for all its readers in this process (R15, threats WEB-11): a reader is no more than an offset, and
 * a thousand readers at the same place cost one read and one formatting. The event stream of the HTTP API reads pages of it,
 * {@link file://./follow.ts} reads lines.
 */
import * as fs from 'node:fs'
import { performance } from 'node:perf_hooks'
import { fail } from '../../errors.ts'
import { SWEEP_MS } from '../../limits.ts'
import type { JournalLine } from '../../store/journal-line.ts'
import { linesIn, offsetAfter, readWholeLines, seekAfter } from '../../store/journal-reader.ts'
import { formatPage, type Page } from './journal-page.ts'

export type { Page } from './journal-page.ts'

/** How much is read at once; a longer line comes whole. */
const PAGE_BYTES = 64 * 1024
/** What is kept of one journal for readers that are near each other. */
const KEPT_BYTES = 1024 * 1024
/** How long readers wait for a larger page at most. */
const REST_MAX_MS = 25
/** How often a followed instance is looked after. */
const ATTEND_MS = 2_000

/** Events as the lines they stand in. */
export interface Stretch {
  lines: JournalLine[]
  /** The offset of the first line after these. */
  next: number
  count: number
}

/** What a feed asks of the platform: a host for an orphaned instance, and whether all has been said. */
export interface FedInstance {
  ensureHost: () => Promise<void>
  hasEnded: () => boolean
}

export class JournalFeed {
  readonly #path: string
  readonly #instance: FedInstance
  #file: { fd: number; ino: number }
  /** How far the journal had come at the last look. */
  #size = 0
  /** How far those who wait were told that it had come. */
  #toldSize = 0
  /** Where only an unfinished line, or private lines, stand up to the end: there is no event until the journal has grown. */
  #barren = -1
  readonly #pages = new Map<number, Page>()
  #keptBytes = 0
  readonly #followers = new Set<() => void>()
  #stopBell: (() => void) | undefined
  #cancelRound: (() => void) | undefined
  #restUntil = 0
  #isTelling = false
  #hasEnded = false
  #trouble: unknown

  /** Throws `journal_broken`, or what the file system throws where the journal cannot be opened. */
  constructor(path: string, instance: FedInstance) {
    this.#path = path
    this.#instance = instance
    this.#file = openFile(path)
    this.#look()
  }

  /** Whether the instance is known to have ended. A reader that has come to the present end has then seen all of it. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Why the instance has no host, at the last try to get it one. */
  get trouble(): unknown {
    return this.#trouble
  }

  /** As {@link cursor}; a number that the journal has not come to is before what comes next. */
  seek(after: number): number {
    this.#look()
    return seekAfter(this.#file.fd, after)
  }

  /** The offset from which everything after number `after` stands; 0 is before the first event. Throws `cursor_unknown`. */
  cursor(after: number): number {
    const offset = Number.isSafeInteger(after) && after >= 0 ? offsetAfter(this.#file.fd, after) : undefined
    if (offset === undefined) throw fail('cursor_unknown', { cursor: String(after) })
    this.#look()
    return offset
  }

  /** What stands from `offset` on, up to a page of it; undefined at the end as it was at the last look. Throws `journal_broken`. */
  read(offset: number): Page | undefined {
    const kept = this.#pages.get(offset)
    if (kept !== undefined) return kept
    const page = this.#next(offset, (bytes, at) => formatPage(this.#path, bytes, at))
    if (page === undefined) return undefined
    if (page.isFinal) this.#hasEnded = true
    this.#keep(offset, page)
    return page
  }

  /** As {@link read}, as lines. They are not kept for other readers. */
  readLines(offset: number): Stretch | undefined {
    return this.#next(offset, (bytes, at) => {
      const lines = linesIn(this.#path, bytes)
      return { lines, next: at + bytes.length, count: lines.length }
    })
  }

  /** What stands from `offset` on, made of its bytes; private lines before the first event are passed over. */
  #next<T extends { next: number; count: number }>(
    offset: number,
    make: (bytes: Buffer, at: number) => T,
  ): T | undefined {
    // A page may hold more than there was at the last look.
    if (offset > this.#size) this.#look()
    if (offset > this.#size) throw fail('journal_broken', { path: this.#path, reason: 'it was truncated' })
    if (offset === this.#size || offset === this.#barren) return undefined
    for (let at = offset; ; ) {
      const bytes = readWholeLines(this.#file.fd, at, PAGE_BYTES)
      if (bytes === undefined) break
      const made = make(bytes, at)
      if (made.count > 0) return made
      at = made.next
    }
    this.#barren = offset
    return undefined
  }

  /** Calls `onNews` when the journal has grown or the instance has ended. Answers its stop. */
  follow(onNews: () => void): () => void {
    this.#followers.add(onNews)
    if (!this.#hasEnded) this.#hasEnded = this.#instance.hasEnded()
    this.#stopBell ??= this.#listen()
    this.#look()
    return () => {
      this.#followers.delete(onNews)
      if (this.#followers.size === 0) this.#rest()
    }
  }

  close(): void {
    this.#rest()
    fs.closeSync(this.#file.fd)
  }

  /** Notices growth. */
  #look(): void {
    const { size } = fs.fstatSync(this.#file.fd)
    if (size === this.#size) return
    this.#size = size
    this.#barren = -1
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

  /** A watch as accelerator, a sweep as guarantee (architecture, decision 3). */
  #listen(): () => void {
    const ring = () => this.#ring()
    const sweep = setInterval(ring, SWEEP_MS).unref()
    const care = setInterval(() => void this.#care(), ATTEND_MS).unref()
    let watcher: fs.FSWatcher | undefined
    try {
      watcher = fs.watch(this.#path, { persistent: false }, ring)
      watcher.on('error', () => watcher?.close())
    } catch {
      // Watches may be used up on this machine; the sweep does.
    }
    return () => {
      clearInterval(sweep)
      clearInterval(care)
      watcher?.close()
    }
  }

  #rest(): void {
    this.#stopBell?.()
    this.#stopBell = undefined
    this.#cancelRound?.()
    this.#cancelRound = undefined
  }

  /** However often it rings, there is one round at a time, and after it a rest as long as it took: many readers get larger pages. */
  #ring(): void {
    if (this.#isTelling || this.#followers.size === 0 || this.#cancelRound !== undefined) return
    const wait = this.#restUntil - performance.now()
    // A timer takes a millisecond at least.
    if (wait <= 0) {
      const round = setImmediate(() => this.#go())
      this.#cancelRound = () => clearImmediate(round)
    } else {
      const round = setTimeout(() => this.#go(), wait)
      this.#cancelRound = () => clearTimeout(round)
    }
  }

  #go(): void {
    this.#cancelRound = undefined
    this.#look()
    // Growth that another noticed first is news all the same.
    if (this.#size === this.#toldSize) return
    const begin = performance.now()
    this.#isTelling = true
    this.#tell()
    // What readers hand to their sockets is written before this, and is most of the work.
    setImmediate(() => {
      this.#isTelling = false
      const end = performance.now()
      this.#restUntil = end + Math.min(end - begin, REST_MAX_MS)
      this.#ring()
    })
  }

  #tell(): void {
    this.#look()
    this.#toldSize = this.#size
    for (const onNews of [...this.#followers]) onNews()
  }

  async #care(): Promise<void> {
    try {
      this.#renew()
      if (this.#hasEnded) return
      this.#trouble = await this.#attend()
    } catch {
      // The journal cannot be opened now; the next look tries again, and readers keep what they have.
    }
    // Without followers the feed may be closed by now, and its file with it.
    if (this.#followers.size === 0) return
    if (this.#hasEnded || this.#trouble !== undefined) this.#tell()
  }

  /** Answers why the instance can have no host now; the next look tries again. */
  async #attend(): Promise<unknown> {
    try {
      await this.#instance.ensureHost()
      this.#hasEnded = this.#instance.hasEnded()
      return undefined
    } catch (error) {
      return error
    }
  }

  /** A damaged journal is frozen and its trusted part goes on in another file, with the same lines at the same offsets. */
  #renew(): void {
    const now = fs.statSync(this.#path, { throwIfNoEntry: false })
    if (now === undefined || now.ino === this.#file.ino) return
    const fresh = openFile(this.#path)
    fs.closeSync(this.#file.fd)
    this.#file = fresh
    this.#pages.clear()
    this.#keptBytes = 0
    this.#stopBell?.()
    this.#stopBell = this.#listen()
    this.#tell()
  }
}

function openFile(path: string): { fd: number; ino: number } {
  // What somebody put in its place keeps nobody waiting.
  const fd = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK)
  const stat = fs.fstatSync(fd)
  if (stat.isFile()) return { fd, ino: stat.ino }
  fs.closeSync(fd)
  throw fail('journal_broken', { path, reason: 'it is not a regular file' })
}

/** A reader's hold on a feed. */
export interface HeldFeed {
  feed: JournalFeed
  /** Lets go of it; the last one closes it. Letting go twice counts once. */
  release: () => void
}

/** The feeds of this process, one for each journal that has a reader. */
export class JournalFeeds {
  readonly #feeds = new Map<string, { feed: JournalFeed; holders: number }>()

  /** How many journals are open. */
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
