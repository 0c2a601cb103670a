/**
 * Asks resolvers for the form of an input, and for everything a creation needs. Starting a process or container costs more
 * than any question, so it is kept for a while: the form that a page or a command shows, and the creation that follows, come
 * from the same process (docs/decisions/0016-creation.md).
 */
import { ResolveError } from '../../errors.ts'
import { INQUIRIES_AT_ONCE, INQUIRIES_WAITING, INQUIRY_LOCAL_IDLE_MS, INQUIRY_PINNED_IDLE_MS } from '../../limits.ts'
import type { CatalogEntry } from '../../protocol/catalog.ts'
import type { Executor } from '../../protocol/journal.ts'
import { ConcurrencyLimiter } from '../../worker/concurrency-limiter.ts'
import { openInquiryContainer } from '../../worker/docker/inquiry-container.ts'
import { openInquiryProcess } from '../../worker/local/inquiry-process.ts'
import { containerLaunch, containerOptions } from '../launch/container-launch.ts'
import { Inquiry } from './inquiry.ts'
import { type OtherUsers, type PoolTerms, RefCountedPool } from './ref-counted-pool.ts'
import { sourceStamp } from './source-stamp.ts'

/**
 * Callers with a read token may ask, so the number of questions is limited. The limit is for each resolver, so that one that
 * hangs does not delay the callers of another.
 */
const inquiryLimiter = new ConcurrencyLimiter('questions to one resolver', {
  atOnce: INQUIRIES_AT_ONCE,
  waiting: INQUIRIES_WAITING,
})

export interface InquiriesOptions {
  /** Where Node keeps the compiled code of resolvers. */
  compileCache?: string
}

export class Inquiries {
  readonly #home: string
  readonly #options: InquiriesOptions
  readonly #pool = new RefCountedPool<Inquiry>()

  constructor(home: string, options: InquiriesOptions = {}) {
    this.#home = home
    this.#options = options
  }

  /**
   * Runs `work` with a process or container of the resolver. If it ends or hangs, `work` may be run again with a fresh one.
   * Throws `too_many`, and the errors of opening the resolver.
   */
  async ask<T>(entry: CatalogEntry, executor: Executor, work: (inquiry: Inquiry) => Promise<T>): Promise<T> {
    const giveBack = await inquiryLimiter.take(entry.name)
    try {
      return await this.#askShared(entry, executor, work)
    } finally {
      giveBack()
    }
  }

  async close(): Promise<void> {
    await this.#pool.close()
  }

  async #askShared<T>(entry: CatalogEntry, executor: Executor, work: (inquiry: Inquiry) => Promise<T>): Promise<T> {
    let others: () => OtherUsers = () => 'none'
    try {
      return await this.#pool.use(
        keyOf(entry, executor),
        termsOf(entry, executor),
        () => this.#open(entry, executor),
        (use) => {
          others = use.others
          return work(use.thing)
        },
      )
    } catch (error) {
      if (!mayBeOthersDoing(error, others())) throw error
    }
    // A process that no other caller uses shows whether this question itself fails.
    const own = await this.#open(entry, executor)
    try {
      return await work(own)
    } finally {
      await own.close()
    }
  }

  async #open(entry: CatalogEntry, executor: Executor): Promise<Inquiry> {
    const { dir: directory, manifest } = entry
    if (executor === 'local') {
      const { compileCache } = this.#options
      return new Inquiry(entry, openInquiryProcess({ directory, command: manifest.command, compileCache }))
    }
    const options = containerOptions(manifest, null)
    const { command } = options
    const container = await openInquiryContainer({
      home: this.#home,
      directory,
      command,
      launch: containerLaunch(options, entry),
    })
    return new Inquiry(entry, container)
  }
}

/** A shared process may have been ended by another caller's question, or may be busy with it. */
function mayBeOthersDoing(error: unknown, others: OtherUsers): boolean {
  if (!(error instanceof ResolveError)) return false
  if (error.code === 'resolver_gone') return others !== 'none'
  return error.code === 'resolver_silent' && others === 'meanwhile'
}

/** A resolver with another manifest or commit gets a process of its own. */
function keyOf({ name, dir, commit, manifest }: CatalogEntry, executor: Executor): string {
  return JSON.stringify([executor, name, dir, commit, manifest])
}

function termsOf({ dir, commit }: CatalogEntry, executor: Executor): PoolTerms {
  const stamp = sourceStamp(dir)
  if (executor === 'docker') {
    return { version: stamp ?? '', idleMs: commit === null ? INQUIRY_LOCAL_IDLE_MS : INQUIRY_PINNED_IDLE_MS }
  }
  // Limits the age of what such a process read elsewhere when it started (an installed package, a file of the user).
  const keptMs = stamp === undefined ? 0 : INQUIRY_LOCAL_IDLE_MS
  return { version: stamp ?? '', idleMs: keptMs, ageMs: keptMs }
}
