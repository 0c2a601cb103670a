/**
 * The inquiries of one platform. A container that was asked costs most of its time to start, so it stays for the next question (a
 * form that discloses itself field by field) and ends when none came for a while. A process of this machine stays for a few seconds
 * too: whoever asks for the form often creates an instance next.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { ResolveError } from '../../errors.ts'
import { INQUIRY_WARM_LOCAL_MS, INQUIRY_WARM_MS } from '../../limits.ts'
import type { CatalogEntry } from '../../protocol/catalog.ts'
import type { Executor } from '../../protocol/journal.ts'
import { openInquiryContainer } from '../../worker/docker/inquiry-container.ts'
import { containerLaunch, containerOptions } from '../launch/container-launch.ts'
import { Inquiry, inquiryLimiter, openLocalInquiry } from './inquiry.ts'
import { RefCountedPool } from './ref-counted-pool.ts'
import { sourceStamp } from './source-stamp.ts'

/** A process that was asked, and may be asked again: by one at a time. */
interface Idle {
  inquiry: Inquiry
  /** How the resolver's files stood when it was started. */
  stamp: string
  /** When it ends, whatever it is asked until then; milliseconds of the process's clock, which nobody sets back. */
  until: number
  timer: NodeJS.Timeout | undefined
}

export interface AskOptions {
  /** Nobody is expected to ask again soon. */
  last?: boolean
}

/** Time for what the answer was wanted for to begin. */
const LEISURE_MS = 15

export class Inquiries {
  readonly #home: string
  readonly #warm = new RefCountedPool<Inquiry>()
  readonly #idle = new Map<string, Idle>()
  readonly #ending = new Set<Promise<void>>()
  #isClosed = false

  constructor(home: string) {
    this.#home = home
  }

  /** Has `work` ask a resolver, where its instances run; it may be begun anew. Throws `too_many`, and what opening it may. */
  async ask<T>(
    entry: CatalogEntry,
    executor: Executor,
    work: (inquiry: Inquiry) => Promise<T>,
    options: AskOptions = {},
  ): Promise<T> {
    const leave = await inquiryLimiter.take(entry.name)
    if (executor === 'docker') return await this.#askInContainer(entry, work).finally(leave)
    return await this.#askProcess(entry, work, options.last === true, leave)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const [key, { inquiry, timer }] of this.#idle) {
      clearTimeout(timer)
      this.#idle.delete(key)
      this.#end(inquiry)
    }
    await Promise.all([...this.#ending, this.#warm.close()])
  }

  async #askProcess<T>(
    entry: CatalogEntry,
    work: (inquiry: Inquiry) => Promise<T>,
    isLast: boolean,
    leave: () => void,
  ): Promise<T> {
    const key = keyOf(entry)
    // Before it is started: a change that it misses is a change of the stamp.
    const stamp = sourceStamp(entry.dir)
    const idle = this.#takeIdle(key, stamp)
    let asked = idle
    try {
      asked ??= start(entry, stamp)
      return await work(asked.inquiry).catch(async (error: unknown) => {
        if (idle === undefined || !isGone(error)) throw error
        // It ended after it was asked the last time; another can still answer.
        this.#end(idle.inquiry)
        asked = start(entry, stamp)
        return await work(asked.inquiry)
      })
    } finally {
      if (asked === undefined) leave()
      else this.#putBack(key, asked, isLast, leave)
    }
  }

  #putBack(key: string, asked: Idle, isLast: boolean, leave: () => void): void {
    const leftMs = asked.until - performance.now()
    const stays = !this.#isClosed && !isLast && !asked.inquiry.isOver && leftMs > 0 && !this.#idle.has(key)
    if (!stays) {
      this.#end(asked.inquiry, isLast ? LEISURE_MS : 0, leave)
      return
    }
    this.#rest(key, asked, leftMs)
    leave()
  }

  #rest(key: string, idle: Idle, leftMs: number): void {
    idle.timer = setTimeout(() => {
      this.#idle.delete(key)
      this.#end(idle.inquiry)
    }, leftMs).unref()
    this.#idle.set(key, idle)
  }

  /** The one that is free, if the resolver's files are as they were. */
  #takeIdle(key: string, stamp: string | undefined): Idle | undefined {
    const idle = this.#idle.get(key)
    if (idle === undefined) return undefined
    this.#idle.delete(key)
    clearTimeout(idle.timer)
    if (idle.stamp === stamp) return idle
    this.#end(idle.inquiry)
    return undefined
  }

  /** Nobody waits for it but {@link close}; to find all that a resolver started takes a moment. */
  #end(inquiry: Inquiry, afterMs = 0, leave: () => void = () => {}): void {
    const closed = afterMs === 0 ? inquiry.close() : sleep(afterMs).then(() => inquiry.close())
    const ended = closed.finally(() => {
      this.#ending.delete(ended)
      leave()
    })
    this.#ending.add(ended)
  }

  async #askInContainer<T>(entry: CatalogEntry, work: (inquiry: Inquiry) => Promise<T>): Promise<T> {
    const key = keyOf(entry)
    // A folder that is being worked on changes without a word.
    const waitMs = entry.commit === null ? INQUIRY_WARM_LOCAL_MS : INQUIRY_WARM_MS
    let mayBeAnothersDoing = () => false
    try {
      return await this.#warm.use(
        key,
        waitMs,
        () => this.#open(entry),
        ({ thing, isShared }) => {
          mayBeAnothersDoing = isShared
          return work(thing)
        },
      )
    } catch (error) {
      if (!(error instanceof ResolveError) || error.code !== 'resolver_gone' || !mayBeAnothersDoing()) throw error
    }
    // It ended under several hands, or while it was kept: only one of its own shows whether this question ends it.
    const own = await this.#open(entry)
    try {
      return await work(own)
    } finally {
      await own.close()
    }
  }

  async #open(entry: CatalogEntry): Promise<Inquiry> {
    const options = containerOptions(entry.manifest, null)
    const container = await openInquiryContainer({
      home: this.#home,
      directory: entry.dir,
      command: options.command,
      launch: containerLaunch(options, entry),
    })
    return new Inquiry(entry, { ...bound(container), launchError: () => undefined })
  }
}

function start(entry: CatalogEntry, stamp: string | undefined): Idle {
  const until = performance.now() + (stamp === undefined ? 0 : INQUIRY_WARM_LOCAL_MS)
  return { inquiry: openLocalInquiry(entry), stamp: stamp ?? '', until, timer: undefined }
}

function isGone(error: unknown): boolean {
  return error instanceof ResolveError && error.code === 'resolver_gone'
}

/** Whatever of the manifest or the source changes is another resolver. */
function keyOf({ name, dir, commit, manifest }: CatalogEntry): string {
  return JSON.stringify([name, dir, commit, manifest])
}

function bound(container: Awaited<ReturnType<typeof openInquiryContainer>>) {
  return { channel: container.channel, stderr: () => container.stderr(), close: () => container.close() }
}
