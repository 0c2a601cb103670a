/**
 * The inquiries of one platform. A container that was asked costs most of its time to start, so it stays for the next question (a
 * form that discloses itself field by field) and ends when none came for a while. A process of this machine stays for a few seconds
 * too: whoever asks for the form often creates an instance next.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { ResolveError } from '../errors.ts'
import { INQUIRY_WARM_LOCAL_MS, INQUIRY_WARM_MS } from '../limits.ts'
import type { CatalogEntry } from '../protocol/catalog.ts'
import type { Executor } from '../protocol/journal.ts'
import { openQuestionContainer } from '../worker/question-container.ts'
import { Inquiry, inquiryTurns, openLocalInquiry } from './ask.ts'
import { containerLaunch, containerWish } from './container-launch.ts'
import { sourceStamp } from './source-stamp.ts'

interface Warm {
  inquiry: Promise<Inquiry>
  users: number
  timer: NodeJS.Timeout | undefined
}

/** A process that was asked, and may be asked again: by one at a time. */
interface Idle {
  inquiry: Inquiry
  /** How the resolver's files stood when it was started. */
  stamp: string
  /** When it ends, whatever it is asked until then. */
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
  readonly #warm = new Map<string, Warm>()
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
    const leave = await inquiryTurns.take(entry.name)
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
    await Promise.all([...this.#ending, ...[...this.#warm.keys()].map((key) => this.#drop(key))])
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
    let asked = idle ?? start(entry, stamp)
    try {
      return await work(asked.inquiry).catch(async (error: unknown) => {
        if (idle === undefined || !isGone(error)) throw error
        // It ended after it was asked the last time; another can still answer.
        this.#end(asked.inquiry)
        asked = start(entry, stamp)
        return await work(asked.inquiry)
      })
    } finally {
      const leftMs = asked.until - Date.now()
      const stays = !this.#isClosed && !isLast && !asked.inquiry.isOver && leftMs > 0 && !this.#idle.has(key)
      if (stays) {
        this.#rest(key, asked, leftMs)
        leave()
      } else this.#end(asked.inquiry, isLast ? LEISURE_MS : 0, leave)
    }
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
    const warm = this.#warm.get(key) ?? { inquiry: this.#open(entry), users: 0, timer: undefined }
    this.#warm.set(key, warm)
    warm.users += 1
    clearTimeout(warm.timer)
    try {
      return await work(await warm.inquiry)
    } finally {
      warm.users -= 1
      const isOver = await warm.inquiry.then(
        (inquiry) => inquiry.isOver,
        () => true,
      )
      if (isOver && this.#warm.get(key) === warm) await this.#drop(key)
      else if (warm.users === 0) {
        // A folder that is being worked on changes without a word.
        const waitMs = entry.commit === null ? INQUIRY_WARM_LOCAL_MS : INQUIRY_WARM_MS
        warm.timer = setTimeout(() => void this.#drop(key), waitMs).unref()
      }
    }
  }

  async #open(entry: CatalogEntry): Promise<Inquiry> {
    const wish = containerWish(entry.manifest, null)
    const container = await openQuestionContainer({
      home: this.#home,
      directory: entry.dir,
      command: wish.command,
      launch: containerLaunch(wish, entry),
    })
    return new Inquiry(entry, { ...bound(container), launchError: () => undefined })
  }

  async #drop(key: string): Promise<void> {
    const warm = this.#warm.get(key)
    this.#warm.delete(key)
    clearTimeout(warm?.timer)
    await warm?.inquiry.then(
      (inquiry) => inquiry.close(),
      () => undefined,
    )
  }
}

function start(entry: CatalogEntry, stamp: string | undefined): Idle {
  const until = Date.now() + (stamp === undefined ? 0 : INQUIRY_WARM_LOCAL_MS)
  return { inquiry: openLocalInquiry(entry), stamp: stamp ?? '', until, timer: undefined }
}

function isGone(error: unknown): boolean {
  return error instanceof ResolveError && error.code === 'resolver_gone'
}

/** Whatever of the manifest or the source changes is another resolver. */
function keyOf({ name, dir, commit, manifest }: CatalogEntry): string {
  return JSON.stringify([name, dir, commit, manifest])
}

function bound(container: Awaited<ReturnType<typeof openQuestionContainer>>) {
  return { channel: container.channel, stderr: () => container.stderr(), close: () => container.close() }
}
