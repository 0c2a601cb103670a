/**
 * What the host of an instance does at the upstream of its repositories, beside the run: it promotes for the worker, finishes what an
 * earlier host began, and looks again at a resume. Git and the clients of the forges are loaded when they are used.
 */
import { existsSync } from 'node:fs'
import { promotionsFile } from '../../promotion/promotions-file.ts'
import { pathsIn } from '../../store/home.ts'
import { HANDED_OVER } from '../../worker/worker.ts'
import type { Ledger, News } from '../ledger/ledger.ts'
import type { PromotionParts, WorkerAnswer } from './run-promotion.ts'

export interface HostUpstreamParts {
  home: string
  ledger: Ledger
  /** Writes an event into the journal, unless the host is released. */
  tell: (news: News) => Promise<unknown>
  warn: (error: unknown) => void
}

export class HostUpstream {
  readonly #parts: HostUpstreamParts
  /** Aborted when the host releases the instance. */
  readonly #released = new AbortController()

  constructor(parts: HostUpstreamParts) {
    this.#parts = parts
  }

  /** Answers what the worker asked through its git server, with the body as it came. Never throws because of it. */
  async promoteForWorker(repo: string, body: unknown): Promise<WorkerAnswer> {
    const { promoteForWorker } = await import('./run-promotion.ts')
    return await promoteForWorker(this.#promotion, repo, body)
  }

  /** What an earlier host, or a command that was killed, began to promote: goes on beside the run. */
  finishPromotions(): void {
    if (!existsSync(promotionsFile(pathsIn(this.#parts.ledger.directory).git))) return
    this.#goOn(async () => {
      const { finishBegun } = await import('./run-promotion.ts')
      await finishBegun(this.#promotion)
    })
  }

  /** `token`: of the git host; empty for none. Goes on beside the resumed run. */
  refresh(token: string): void {
    const { home, ledger } = this.#parts
    if ((ledger.story.repos ?? []).length === 0) return
    const { story } = ledger
    this.#goOn(async () => {
      const { refreshUpstream } = await import('./refresh-upstream.ts')
      await refreshUpstream({ home, story, token, tell: this.#tell, signal: this.#released.signal })
    })
  }

  /** The next host carries it on. */
  release(): void {
    this.#released.abort(HANDED_OVER)
  }

  #goOn(work: () => Promise<void>): void {
    work().catch((error: unknown) => {
      if (!this.#released.signal.aborted) this.#parts.warn(error)
    })
  }

  #tell = async (news: News): Promise<void> => void (await this.#parts.tell(news))

  get #promotion(): PromotionParts {
    const { home, ledger } = this.#parts
    return {
      home,
      story: ledger.story,
      holdsSecret: (bytes) => ledger.redactor.holds(bytes),
      tell: this.#tell,
      signal: this.#released.signal,
    }
  }
}
