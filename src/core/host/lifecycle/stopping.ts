/**
 * Stop, cancel, pause and the end of a lifetime: keeps what a run was last asked to do, and carries it out on its worker (spec, Rules 3;
 * R20, R24, R26, R27). {@link file://./instance-host.ts} decides by its state when a request is carried out.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { fail } from '../../errors.ts'
import { failpoint } from '../../failpoints.ts'
import { STOP_LIMIT_MS, TERM_LIMIT_MS } from '../../limits.ts'
import type { StopIntent } from '../../protocol/journal.ts'
import { LIFETIME_REASON, PAUSE_IGNORED, PAUSE_REASON } from '../../protocol/methods.ts'
import { isTerminal } from '../../protocol/status.ts'
import type { Driver } from '../../worker/worker.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { isToEnd, type StopRequest } from './outcome.ts'
import type { WorkerSession } from './worker-session.ts'

/** What `instance stop` says where no reason was given. */
const UNNAMED = ['stopped']

export class Stopping {
  readonly #ledger: Ledger
  readonly #driver: Driver
  #request: StopRequest | undefined

  /** Takes up the request that an earlier host accepted for this incarnation (R12). */
  constructor(ledger: Ledger, driver: Driver) {
    this.#ledger = ledger
    this.#driver = driver
    const intent = ledger.inbox.stop
    if (intent?.incarnation === ledger.story.wantedIncarnation) {
      this.#request = { kind: intent.how, reason: intent.reason, forced: intent.force }
    }
  }

  /** The request in force now. */
  get request(): StopRequest | undefined {
    return this.#request
  }

  /** Whether the instance is to end. False for a pause: only a running resolver can pause. */
  get isToEnd(): boolean {
    return isToEnd(this.#request)
  }

  /**
   * Legal in every status that is not final (R20). On disk when this returns. False where a stop is in force already. Throws
   * `invalid_state`, `disk_full`.
   */
  stop(how: 'stop' | 'cancel', reason: string, force: boolean): boolean {
    const { status } = this.#ledger
    if (isTerminal(status)) throw fail('invalid_state', { action: how, status })
    if (this.isToEnd && !force) return false
    // A force that follows a stop is for the same reason, unless it names its own (R57).
    const why = this.isToEnd && UNNAMED.includes(reason) ? (this.#request?.reason ?? reason) : reason
    this.#ledger.accept(this.#intent(how, why, force))
    this.#request = { kind: how, reason: why, forced: force }
    return true
  }

  /** R24. False where a pause is in force already. Throws `resume_unsupported`, `invalid_state`, `disk_full`. */
  pause(): boolean {
    const { status, story } = this.#ledger
    const { resolver } = story.creation
    if (resolver.manifest.supports_resume !== true) throw fail('resume_unsupported', { resolver: resolver.name })
    if (status !== 'running' && status !== 'awaiting_input') throw fail('invalid_state', { action: 'pause', status })
    if (this.#request?.kind === 'pause') return false
    if (this.#request !== undefined) throw fail('invalid_state', { action: 'pause', status: 'being stopped' })
    this.#ledger.accept(this.#intent('pause', PAUSE_REASON, false))
    this.#request = { kind: 'pause', reason: PAUSE_REASON, forced: false }
    return true
  }

  /** The lifetime of the instance is over (R27). False where a stop is in force already. */
  endLifetime(): boolean {
    if (this.isToEnd) return false
    this.#request = { kind: 'lifetime', reason: LIFETIME_REASON, forced: false }
    return true
  }

  /**
   * Calls `resolver.stop`, waits, sends SIGTERM, waits, sends SIGKILL. A pause only calls: it must not lose the work of a run. Ends early
   * where the session closes: the next host finds the request in the journal.
   */
  async carryOut(session: WorkerSession): Promise<void> {
    const stop = this.#request
    if (stop === undefined) return
    const { worker, calls, sessions } = session
    // Also where the worker is killed: its helper, which is killed with it, is not started again.
    sessions.stop(stop.reason)
    if (!stop.forced) {
      calls.call('resolver.stop', { reason: stop.reason }).catch(() => {})
      failpoint('stop.called')
      await Promise.race([worker.ended, sleep(STOP_LIMIT_MS, undefined, { ref: false })])
      const isOver = session.isClosed || this.#request !== stop || worker.condition.engine !== 'running'
      if (isOver) return
      if (stop.kind === 'pause') {
        this.#giveUpPause(session)
        return
      }
      stop.forced = true
      failpoint('stop.terminating')
      worker.signal('SIGTERM')
      await Promise.race([worker.ended, sleep(TERM_LIMIT_MS, undefined, { ref: false })])
      if (session.isClosed) return
    }
    failpoint('stop.killing')
    await this.#driver.sweep()
  }

  #giveUpPause(session: WorkerSession): void {
    // The journal's reader takes this warning as the end of the pause, too.
    session.warn(PAUSE_IGNORED, STOP_LIMIT_MS, STOP_LIMIT_MS)
    this.#request = undefined
  }

  #intent(how: StopIntent['how'], reason: string, force: boolean): StopIntent {
    const incarnation = this.#ledger.story.wantedIncarnation
    return { kind: 'stop', how, reason, force, incarnation, at: new Date().toISOString() }
  }
}
