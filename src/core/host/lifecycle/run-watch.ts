/** Watches for the end of one run: its result, its `resolver:completed`, or the end of its process, in that order (R21). */
import { passesWithTime, ResolveError } from '../../errors.ts'
import { failpoint } from '../../failpoints.ts'
import { OUTCOME_GRACE_MS } from '../../limits.ts'
import type { InstanceError } from '../../protocol/instance.ts'
import type { CoordinationDirectory, Driver, Worker } from '../../worker/worker.ts'
import type { Monitor } from '../ingest/monitor.ts'
import type { ResolverCalls } from '../launch/resolver-calls.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { RunEnd } from './outcome.ts'
import { describeExit, readResult } from './run-result.ts'

export interface RunWatchParts {
  ledger: Ledger
  driver: Driver
  coordination: CoordinationDirectory
  worker: Worker
  monitor: Monitor
}

export class RunWatch {
  /** The end of the run, or `released` if the instance was released before it. */
  readonly ended: Promise<RunEnd | 'released'>
  readonly #parts: RunWatchParts
  #settle: (end: RunEnd | 'released') => void = () => {}
  #fault: InstanceError | undefined
  #graceTimer: NodeJS.Timeout | undefined
  #isOver = false

  constructor(parts: RunWatchParts) {
    this.#parts = parts
    this.ended = new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  /** Checks whether the run has ended; called whenever something may have changed. */
  check(): void {
    if (this.#isOver) return
    this.#unlessShort(
      () => this.#check(),
      // The next check tries again.
      () => {},
    )
  }

  #check(): void {
    const exit = this.#fault ?? { code: 'worker_exited', detail: '' }
    const now = this.#reported()
    if (now.result !== null || this.#fault !== undefined) {
      this.#end({ ...now, exit, isLost: false })
      return
    }
    const { worker, driver, ledger, monitor } = this.#parts
    if (worker.condition.engine !== 'running') {
      // Forwards the last events.
      monitor.finish()
      const detail = describeExit(worker, driver, ledger.redactor, 'without a result')
      const { engine, outOfMemory } = worker.condition
      const code = engine === 'lost' ? 'worker_lost' : outOfMemory === true ? 'out_of_memory' : exit.code
      this.#end({ ...this.#reported(), exit: { code, detail }, isLost: wasLost(worker, ledger) })
      return
    }
    if (now.completion === null) return
    // The result may arrive a moment after its event.
    this.#graceTimer ??= this.#endLater(exit)
  }

  #endLater(exit: InstanceError): NodeJS.Timeout {
    const end = () => this.#end({ ...this.#reported(), exit, isLost: false })
    const again = () => {
      this.#graceTimer = this.#endLater(exit)
    }
    return setTimeout(() => this.#unlessShort(end, again), OUTCOME_GRACE_MS)
  }

  /** While this process has too few file descriptors to read the result, or no room to keep the last events, nothing is taken as missing. */
  #unlessShort(step: () => void, otherwise: () => void): void {
    try {
      step()
    } catch (error) {
      if (!passesWithTime(error)) throw error
      otherwise()
    }
  }

  /** Ends the run because of a fault. */
  breakOff(fault: InstanceError): void {
    this.#fault ??= fault
    this.check()
  }

  release(): void {
    this.#isOver = true
    clearTimeout(this.#graceTimer)
    this.#settle('released')
  }

  #reported(): Pick<RunEnd, 'result' | 'completion'> {
    return { result: readResult(this.#parts.coordination), completion: this.#parts.ledger.story.completion }
  }

  #end(end: RunEnd): void {
    this.#isOver = true
    clearTimeout(this.#graceTimer)
    this.#settle(end)
  }
}

/**
 * R58. A process that ended by itself has an exit code. An adopting host learns none: a resolver that ends by itself leaves a result, so
 * this one was killed.
 */
function wasLost({ condition }: Worker, { story, inbox }: Ledger): boolean {
  const { engine, exitCode } = condition
  // What an engine says of a container that ran when the machine, or the engine, went down.
  const isOfCrash = story.creation.executor === 'docker' && exitCode === 255
  return engine === 'lost' || exitCode === null || isOfCrash || inbox.isOfEarlierBoot
}

/** Calls run(). Its acknowledgement is recorded; a refusal ends the run. */
export function letRun(calls: ResolverCalls, ledger: Ledger, incarnation: number, watch: RunWatch): void {
  calls
    .call('resolver.run', { resume: incarnation > 1 })
    .then(
      () => {
        failpoint('run.acknowledged')
        ledger.markRun(incarnation)
        failpoint('run.marked')
      },
      (error: unknown) => {
        if (!(error instanceof ResolveError) || error.code !== 'resolver_refused') return
        watch.breakOff({ code: 'run_refused', detail: error.message })
      },
    )
    // If it was not recorded, the next host calls run() again (R42).
    .catch(() => {})
  failpoint('run.sent')
}
