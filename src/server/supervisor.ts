/**
 * Keeps a host for every live instance: this process adopts instances without an owner, at the start and whenever their host
 * dies (architecture, decision 2). An instance that cannot be adopted or read is reported once, and does not delay the
 * others.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { LiveInstanceReport, LocalPlatform, Status } from '../core/index.ts'
import { ATTEND_NEWBORN_MS, ATTEND_PARALLEL, ATTEND_RETRY_MAX_MS, ATTEND_SWEEP_MS } from '../core/limits.ts'

export interface SupervisorParts {
  platform: Pick<LocalPlatform, 'host' | 'hosted' | 'hasHost'>
  /** Resumes an instance whose worker was lost, where it is due (R58). Without it such an instance waits for a person. */
  resumeLost?: (id: string) => Promise<void>
  report: { look(): Promise<LiveInstanceReport> }
  /** Called for each adoption. */
  onAdopted?: (id: string) => void
  /** Called once for each instance that cannot be read or adopted, and again when the reason changes. */
  onTrouble?: (id: string, error: unknown) => void
  sweepMs?: number
}

export interface Supervisor {
  /** Resolves after the first sweep. */
  ready: Promise<void>
  counts(): LiveInstanceReport['counts']
  adoptions(): number
  /** The current problems. */
  troubled(): string[]
  stop(): Promise<void>
}

/** Starts at once. Never throws for the state of an instance. */
export function startSupervisor(parts: SupervisorParts): Supervisor {
  const supervisor = new Sweeper(parts)
  const stopped = new AbortController()
  const ready = supervisor.sweep(stopped.signal)
  const going = (async () => {
    await ready
    while (!stopped.signal.aborted) {
      await sleep(parts.sweepMs ?? ATTEND_SWEEP_MS, undefined, { signal: stopped.signal }).catch(() => {})
      await supervisor.sweep(stopped.signal)
    }
  })()
  return {
    ready,
    counts: () => supervisor.counts,
    adoptions: () => supervisor.adoptions,
    troubled: () => [...supervisor.troubles.keys()],
    async stop() {
      stopped.abort()
      await going
    },
  }
}

interface Trouble {
  message: string
  tries: number
  /** Milliseconds of the monotonic clock. */
  nextAt: number
}

/** The key of problems with the home itself. */
const HOME = ''
const FIRST_RETRY_MS = 1_000
/** An instance that loses its host again within this time after its adoption is retried less and less often. */
const STEADY_MS = 60_000

class Sweeper {
  readonly #parts: SupervisorParts
  readonly #adoptedAt = new Map<string, number>()
  readonly troubles = new Map<string, Trouble>()
  counts: Partial<Record<Status, number>> = {}
  adoptions = 0

  constructor(parts: SupervisorParts) {
    this.#parts = parts
  }

  async sweep(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    try {
      const { live, counts, lost = [], broken } = await this.#parts.report.look()
      this.counts = counts
      this.#forget(new Set([...[...live, ...broken].map(({ id }) => id), ...lost]))
      const hosted = new Set(this.#parts.platform.hosted())
      for (const { id, error, isLive = false } of broken) {
        if (isLive && !hosted.has(id)) await this.#adoptDamaged(id, error)
        else this.#trouble(id, error)
      }
      const waiting = live.filter(({ id, status, createdAt }) => {
        // The process that creates an instance owns it a moment later.
        const isNewborn = status === 'created' && Math.abs(Date.now() - createdAt) < ATTEND_NEWBORN_MS
        return !hosted.has(id) && !isNewborn && this.#isDue(id)
      })
      await this.#attendAll(waiting.map(({ id }) => id).reverse(), signal)
      for (const id of lost) if (!signal.aborted) await this.#resumeLost(id)
    } catch (error) {
      this.#trouble(HOME, error)
    }
  }

  async #attendAll(waiting: string[], signal: AbortSignal): Promise<void> {
    const worker = async () => {
      for (let id = waiting.pop(); id !== undefined && !signal.aborted; id = waiting.pop()) await this.#ensureHost(id)
    }
    await Promise.all(Array.from({ length: ATTEND_PARALLEL }, worker))
  }

  async #ensureHost(id: string): Promise<void> {
    const { platform, onAdopted } = this.#parts
    try {
      if (await platform.hasHost(id)) {
        this.troubles.delete(id)
        return
      }
      if (!(await platform.host(id))) return
      const before = this.#adoptedAt.get(id)
      const now = performance.now()
      this.#adoptedAt.set(id, now)
      this.adoptions += 1
      if (before !== undefined && now - before < STEADY_MS) this.#postpone(id, 'it loses its host again and again')
      else this.troubles.delete(id)
      onAdopted?.(id)
    } catch (error) {
      this.#trouble(id, error)
    }
  }

  /** Its host replaces the journal by the part of it that can be trusted. One that has a host is only reported: that host does so when it ends. */
  async #adoptDamaged(id: string, why: unknown): Promise<void> {
    if (!this.#isDue(id)) return
    const { platform, onAdopted } = this.#parts
    try {
      const isAttended = await platform.hasHost(id)
      // Reported before a try, and not again at each: a try that fails has its own reason.
      if (isAttended || !this.troubles.has(id)) this.#trouble(id, why)
      if (isAttended || !(await platform.host(id))) return
      this.#adoptedAt.set(id, performance.now())
      this.adoptions += 1
      this.troubles.delete(id)
      onAdopted?.(id)
    } catch (error) {
      this.#trouble(id, error)
    }
  }

  async #resumeLost(id: string): Promise<void> {
    try {
      await this.#parts.resumeLost?.(id)
      this.troubles.delete(id)
    } catch (error) {
      this.#trouble(id, error)
    }
  }

  #isDue(id: string): boolean {
    return performance.now() >= (this.troubles.get(id)?.nextAt ?? 0)
  }

  #trouble(id: string, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error)
    const isNews = this.troubles.get(id)?.message !== message
    this.#postpone(id, message)
    if (isNews) this.#parts.onTrouble?.(id, error)
  }

  #postpone(id: string, message: string): void {
    const tries = (this.troubles.get(id)?.tries ?? 0) + 1
    const wait = Math.min(FIRST_RETRY_MS * 2 ** Math.min(tries, 20), ATTEND_RETRY_MAX_MS)
    this.troubles.set(id, { message, tries, nextAt: performance.now() + wait })
  }

  /** Drops problems of instances that have ended, were repaired or were removed. */
  #forget(present: ReadonlySet<string>): void {
    for (const id of this.troubles.keys()) if (!present.has(id)) this.troubles.delete(id)
    for (const id of this.#adoptedAt.keys()) if (!present.has(id)) this.#adoptedAt.delete(id)
  }
}
