/**
 * The inquiries of one platform. A process of this machine is asked once and ended. A container costs more, so it stays for the next
 * question (a form that discloses itself field by field) and ends when none came for a while.
 */
import { INQUIRY_WARM_LOCAL_MS, INQUIRY_WARM_MS } from '../limits.ts'
import type { CatalogEntry } from '../protocol/catalog.ts'
import type { Executor } from '../protocol/journal.ts'
import { openQuestionContainer } from '../worker/question-container.ts'
import { Inquiry, inquiryTurns, openLocalInquiry } from './ask.ts'
import { containerLaunch, containerWish } from './container-launch.ts'

interface Warm {
  inquiry: Promise<Inquiry>
  users: number
  timer: NodeJS.Timeout | undefined
}

export class Inquiries {
  readonly #home: string
  readonly #warm = new Map<string, Warm>()

  constructor(home: string) {
    this.#home = home
  }

  /** Has `work` ask a resolver, where its instances run. Throws `too_many`, and what opening it may. */
  async ask<T>(entry: CatalogEntry, executor: Executor, work: (inquiry: Inquiry) => Promise<T>): Promise<T> {
    if (executor === 'docker') {
      const leave = await inquiryTurns.take(entry.name)
      return await this.#askInContainer(entry, work).finally(leave)
    }
    const inquiry = await openLocalInquiry(entry)
    try {
      return await work(inquiry)
    } finally {
      await inquiry.close()
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#warm.keys()].map((key) => this.#drop(key)))
  }

  async #askInContainer<T>(entry: CatalogEntry, work: (inquiry: Inquiry) => Promise<T>): Promise<T> {
    // Whatever of the manifest or the source changes is another resolver.
    const key = JSON.stringify([entry.name, entry.dir, entry.commit, entry.manifest])
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

function bound(container: Awaited<ReturnType<typeof openQuestionContainer>>) {
  return { channel: container.channel, stderr: () => container.stderr(), close: () => container.close() }
}
