/** Carries out stop, cancel, pause and the end of a lifetime on a run (spec, Rules 3; R20, R24, R26, R27). */
import { setTimeout as sleep } from 'node:timers/promises'
import { fail } from '../../errors.ts'
import { failpoint } from '../../failpoints.ts'
import { STOP_LIMIT_MS, TERM_LIMIT_MS } from '../../limits.ts'
import type { StopIntent } from '../../protocol/journal.ts'
import { LIFETIME_REASON, PAUSE_IGNORED, PAUSE_REASON } from '../../protocol/methods.ts'
import { hasWorker, isTerminal } from '../../protocol/status.ts'
import type { Driver, Worker } from '../../worker/worker.ts'
import type { ResolverCalls } from '../launch/resolver-calls.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { StopRequest } from './outcome.ts'

export interface StoppingParts {
  ledger: Ledger
  driver: Driver
  /** The worker and its calls; undefined before the launch. */
  reach: () => { worker: Worker; calls: ResolverCalls } | undefined
  /** Ends a wait that must not delay a stop. */
  interrupt: () => void
  isReleased: () => boolean
  /** Releases the instance: the next host takes the stop from the inbox. */
  giveUp: (error: unknown) => void
  warn: (kind: string, value: number, limit: number) => void
}

export class Stopping {
  readonly #parts: StoppingParts
  #request: StopRequest | undefined

  /** Takes up a stop of this incarnation that an earlier host accepted (R12). */
  constructor(parts: StoppingParts) {
    this.#parts = parts
    const intent = parts.ledger.inbox.stop
    if (intent?.incarnation === parts.ledger.story.wantedIncarnation) {
      this.#request = { kind: intent.how, reason: intent.reason, forced: intent.force }
    }
  }

  /** The pending stop, cancel, pause or end of the lifetime. */
  get request(): StopRequest | undefined {
    return this.#request
  }

  /** Allowed in every status that is not final (R20). On disk when this returns. */
  stop(how: 'stop' | 'cancel', reason: string, force: boolean): void {
    const { ledger } = this.#parts
    if (isTerminal(ledger.status)) throw fail('invalid_state', { action: how, status: ledger.status })
    const isSameAgain = this.#request !== undefined && this.#request.kind !== 'pause' && !force
    if (isSameAgain) return
    ledger.accept(this.#intent(how, reason, force))
    this.#begin({ kind: how, reason, forced: force })
  }

  /** R24. Throws `resume_unsupported`, `invalid_state`. */
  pause(): void {
    const { ledger } = this.#parts
    const { resolver } = ledger.story.creation
    if (resolver.manifest.supports_resume !== true) throw fail('resume_unsupported', { resolver: resolver.name })
    if (ledger.status !== 'running' && ledger.status !== 'awaiting_input') {
      throw fail('invalid_state', { action: 'pause', status: ledger.status })
    }
    if (this.#request?.kind === 'pause') return
    if (this.#request !== undefined) throw fail('invalid_state', { action: 'pause', status: 'being stopped' })
    ledger.accept(this.#intent('pause', PAUSE_REASON, false))
    this.#begin({ kind: 'pause', reason: PAUSE_REASON, forced: false })
  }

  /** R27: the instance has used up its lifetime. */
  endLifetime(): void {
    if (this.#request !== undefined && this.#request.kind !== 'pause') return
    this.#begin({ kind: 'lifetime', reason: LIFETIME_REASON, forced: false })
  }

  begin(): void {
    this.#carryOut().catch(this.#parts.giveUp)
  }

  /** Ask, wait, then SIGTERM, then SIGKILL. A pause only asks, because it must not cost a run its work. */
  async #carryOut(): Promise<void> {
    const stop = this.#request
    const reached = this.#parts.reach()
    if (stop === undefined || reached === undefined) return
    const { worker, calls } = reached
    if (!stop.forced) {
      calls.call('resolver.stop', { reason: stop.reason }).catch(() => {})
      failpoint('stop.called')
      await Promise.race([worker.ended, sleep(STOP_LIMIT_MS, undefined, { ref: false })])
      const isOver = this.#parts.isReleased() || this.#request !== stop || worker.condition.engine !== 'running'
      if (isOver) return
      if (stop.kind === 'pause') {
        this.#giveUpPause()
        return
      }
      stop.forced = true
      failpoint('stop.terminating')
      worker.signal('SIGTERM')
      await Promise.race([worker.ended, sleep(TERM_LIMIT_MS, undefined, { ref: false })])
      if (this.#parts.isReleased()) return
    }
    failpoint('stop.killing')
    await this.#parts.driver.sweep()
  }

  #begin(request: StopRequest): void {
    this.#request = request
    this.#parts.interrupt()
    if (hasWorker(this.#parts.ledger.status)) this.begin()
  }

  #giveUpPause(): void {
    // The warning in the journal also removes the pause from the inbox.
    this.#parts.warn(PAUSE_IGNORED, STOP_LIMIT_MS, STOP_LIMIT_MS)
    this.#request = undefined
  }

  #intent(how: StopIntent['how'], reason: string, force: boolean): StopIntent {
    const incarnation = this.#parts.ledger.story.wantedIncarnation
    return { kind: 'stop', how, reason, force, incarnation, at: new Date().toISOString() }
  }
}
