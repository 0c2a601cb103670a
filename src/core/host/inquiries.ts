/**
 * The inquiries of one platform. A process of this machine is asked once and ended. A container costs more, so it stays for the next
 * question (a form that discloses itself field by field) and ends when none came for a while.
 */
import { ResolveError } from '../errors.ts'
import { INQUIRY_WARM_LOCAL_MS, INQUIRY_WARM_MS } from '../limits.ts'
import type { CatalogEntry } from '../protocol/catalog.ts'
import type { Executor } from '../protocol/journal.ts'
import { openQuestionContainer } from '../worker/question-container.ts'
import { Inquiry, inquiryTurns, openLocalInquiry } from './ask.ts'
import { containerLaunch, containerWish } from './container-launch.ts'
import { KeptWarm } from './kept-warm.ts'

export class Inquiries {
  readonly #home: string
  readonly #warm = new KeptWarm<Inquiry>()

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
    await this.#warm.close()
  }

  async #askInContainer<T>(entry: CatalogEntry, work: (inquiry: Inquiry) => Promise<T>): Promise<T> {
    // Whatever of the manifest or the source changes is another resolver.
    const key = JSON.stringify([entry.name, entry.dir, entry.commit, entry.manifest])
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
    const wish = containerWish(entry.manifest, null)
    const container = await openQuestionContainer({
      home: this.#home,
      directory: entry.dir,
      command: wish.command,
      launch: containerLaunch(wish, entry),
    })
    return new Inquiry(entry, { ...bound(container), launchError: () => undefined })
  }
}

function bound(container: Awaited<ReturnType<typeof openQuestionContainer>>) {
  return { channel: container.channel, stderr: () => container.stderr(), close: () => container.close() }
}
