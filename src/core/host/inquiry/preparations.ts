/**
 * Prepares resolvers: does the setup that a manifest wants before its resolver can be asked for its form (R48). `resolver add` and the
 * command line wait for it; a server does it in the background, a few at a time.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { fail } from '../../errors.ts'
import { PREPARATIONS_AT_ONCE, PREPARATIONS_WAITING } from '../../limits.ts'
import type { CatalogEntry } from '../../protocol/catalog.ts'
import type { Executor } from '../../protocol/journal.ts'
import { ConcurrencyLimiter } from '../../worker/concurrency-limiter.ts'
import {
  beforeAsking,
  isPrepared,
  planSetup,
  prepareImage,
  type SetupSource,
} from '../../worker/docker/container-setup.ts'
import { HANDED_OVER, type SetupProgress } from '../../worker/worker.ts'
import { containerLaunch, containerOptions } from '../launch/container-launch.ts'

export interface PrepareOptions {
  onProgress?: ((progress: SetupProgress) => void) | undefined
  /** Ends the setup, unless another caller waits for it too. */
  signal?: AbortSignal | undefined
}

interface Job {
  done: Promise<void>
  latest: SetupProgress | undefined
}

export class Preparations {
  readonly #home: string
  readonly #jobs = new Map<string, Job>()
  readonly #limiter = new ConcurrencyLimiter('preparations of resolvers', {
    atOnce: PREPARATIONS_AT_ONCE,
    waiting: PREPARATIONS_WAITING,
  })
  /** What runs in the background is left to the next process; what a caller waits for ends with it. */
  readonly #closed = new AbortController()
  readonly #ended = new AbortController()
  readonly #waited = new Set<Promise<unknown>>()

  constructor(home: string) {
    this.#home = home
  }

  /** Whether the resolver can be asked at once. Throws `docker_unreachable`, `image_missing`, `launch_failed`, `source_invalid`. */
  async isReady(entry: CatalogEntry, executor: Executor): Promise<boolean> {
    return executor === 'local' || (await isPrepared(this.#source(entry)))
  }

  /** Returns when the resolver can be asked. Throws `setup_failed`, the signal's reason, and as {@link isReady}. */
  async prepare(entry: CatalogEntry, executor: Executor, { onProgress, signal }: PrepareOptions = {}): Promise<void> {
    const signals = signal === undefined ? [this.#ended.signal] : [signal, this.#ended.signal]
    const done = this.#prepare(entry, executor, { onProgress, signal: AbortSignal.any(signals) })
    this.#waited.add(done)
    await done.finally(() => this.#waited.delete(done))
  }

  async #prepare(entry: CatalogEntry, executor: Executor, { onProgress, signal }: PrepareOptions): Promise<void> {
    if (await this.isReady(entry, executor)) return
    const source = this.#source(entry)
    const plan = await planSetup({ ...source, launch: beforeAsking(source.launch) })
    await prepareImage(plan, {
      signal,
      report: async (event, data) => {
        if (event === 'platform.setup.progress') onProgress?.(data as SetupProgress)
      },
    })
  }

  /** Starts a preparation that goes on without its callers, or finds the one that runs. The result may be ignored. */
  start(entry: CatalogEntry): Promise<void> {
    return this.#job(entry).done
  }

  /**
   * Waits for a preparation in the background, and starts it where none runs; with 0 it only looks. Throws `resolver_preparing` when it
   * takes longer, and as {@link prepare}.
   */
  async wait(entry: CatalogEntry, executor: Executor, waitMs: number): Promise<void> {
    if (await this.isReady(entry, executor)) return
    if (waitMs === 0) throw fail('resolver_preparing', { resolver: entry.name })
    const job = this.#job(entry)
    const limit = new AbortController()
    const isLate = sleep(waitMs, 'late' as const, { signal: limit.signal }).catch(() => 'late' as const)
    const came = await Promise.race([job.done, isLate]).finally(() => limit.abort())
    if (came !== 'late') return
    const { step, total } = job.latest ?? {}
    throw fail('resolver_preparing', { resolver: entry.name, step, total })
  }

  async close(): Promise<void> {
    this.#closed.abort(HANDED_OVER)
    this.#ended.abort('ended')
    await Promise.allSettled([...[...this.#jobs.values()].map(({ done }) => done), ...this.#waited])
  }

  #job(entry: CatalogEntry): Job {
    const key = JSON.stringify([entry.name, entry.dir, entry.commit, entry.manifest])
    let job = this.#jobs.get(key)
    if (job === undefined) {
      const made: Job = { done: Promise.resolve(), latest: undefined }
      made.done = this.#run(entry, made).finally(() => this.#jobs.delete(key))
      made.done.catch(() => {})
      this.#jobs.set(key, made)
      job = made
    }
    return job
  }

  async #run(entry: CatalogEntry, job: Job): Promise<void> {
    const giveBack = await this.#limiter.take('all')
    try {
      this.#closed.signal.throwIfAborted()
      const onProgress = (progress: SetupProgress) => {
        job.latest = progress
      }
      await this.#prepare(entry, 'docker', { signal: this.#closed.signal, onProgress })
    } finally {
      giveBack()
    }
  }

  #source(entry: CatalogEntry): SetupSource {
    const options = containerOptions(entry.manifest, null)
    const { command } = options
    return { home: this.#home, directory: entry.dir, command, launch: containerLaunch(options, entry) }
  }
}
