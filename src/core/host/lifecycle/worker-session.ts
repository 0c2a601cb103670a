/** One worker while a host is connected to it: its calls, monitor, delivery and supervision, opened and closed together. */
import type { CoordinationDirectory, StderrReading, Worker } from '../../worker/worker.ts'
import type { CheckBroker } from '../checks/check-broker.ts'
import { Monitor } from '../ingest/monitor.ts'
import { ResolverCalls } from '../launch/resolver-calls.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { WorkerLog } from '../output/worker-log.ts'
import type { RequestContext } from '../requests/accept.ts'
import { Delivery } from '../requests/delivery.ts'
import type { SandboxBroker } from '../resources/sandbox-broker.ts'
import { SessionRelay, type SessionRelayParts } from '../resources/session-relay.ts'
import { tryAll } from './clean-up.ts'
import { superviseWorker } from './supervision.ts'

/** What happens to a worker. The host decides by its state what follows. */
export type SessionEvent =
  | { type: 'worker_ended' }
  /** The resolver says that its result is in `status.json`. */
  | { type: 'run_finished' }
  /** The resolver cannot be talked to any more. */
  | { type: 'protocol_error'; detail: string }
  /** The monitor has checked the files; `swept` for one of the periodic full checks. */
  | { type: 'checked'; swept: boolean }
  /** The journal refused an append: another host owns the instance. */
  | { type: 'ownership_lost' }
  /** The worker was up for as long as it may be (R27). */
  | { type: 'lifetime_over' }

export interface WorkerSessionParts {
  ledger: Ledger
  coordination: CoordinationDirectory
  epoch: number
  /** Answers and messages that were accepted. */
  requests: RequestContext
  sandboxes: SandboxBroker
  checks: CheckBroker
  /** For LLM sessions of a resolver without the SDK. */
  helper: Pick<SessionRelayParts, 'token' | 'place'>
  /** Writes to the journal, waiting for room where the disk is full. */
  write: (line: () => void) => Promise<void>
  watchdogMs?: number | undefined
  /** The path of the instance's log. */
  log: string
}

export class WorkerSession {
  readonly worker: Worker
  readonly calls: ResolverCalls
  readonly delivery: Delivery
  readonly monitor: Monitor
  readonly sessions: SessionRelay
  readonly #parts: WorkerSessionParts
  readonly #log: WorkerLog
  readonly #stderr: StderrReading
  readonly #endSupervision: () => void
  #isClosed = false

  /** Releases the worker where it throws. */
  static open(worker: Worker, parts: WorkerSessionParts, emit: (event: SessionEvent) => void): WorkerSession {
    try {
      return new WorkerSession(worker, parts, emit)
    } catch (error) {
      tryAll(() => worker.release())
      throw error
    }
  }

  private constructor(worker: Worker, parts: WorkerSessionParts, emit: (event: SessionEvent) => void) {
    const { ledger, coordination, epoch, requests, sandboxes, checks, helper, write, watchdogMs } = parts
    this.#parts = parts
    this.worker = worker
    this.#log = new WorkerLog({
      path: parts.log,
      incarnation: worker.incarnation,
      replayBytes: worker.replayBytes,
      redactor: () => ledger.redactor,
    })
    this.#stderr = worker.readStderr(this.#log, this.#log.stderrFrom)
    this.calls = new ResolverCalls(worker.channel, {
      epoch,
      redactor: () => ledger.redactor,
      onLog: (level, message) => this.#log.notice(level, message, worker.channel.position),
      onNoise: (line) => this.#log.noise(line, worker.channel.position),
      // Optional: a call may arrive before the monitor is made, which reads everything when it starts.
      onEvent: () => this.monitor?.checkSoon(),
      onFinished: () => emit({ type: 'run_finished' }),
      onProtocolError: (detail) => emit({ type: 'protocol_error', detail }),
    })
    sandboxes.serve(this.calls)
    checks.serve(this.calls)
    this.sessions = new SessionRelay({
      ...{ ...helper, worker, epoch },
      log: (level, message) => this.#log.notice(level, message),
      onEvent: () => this.monitor.checkSoon(),
    })
    this.sessions.serve(this.calls)
    this.delivery = new Delivery(requests, this.calls, write)
    this.monitor = new Monitor(coordination, ledger, {
      onChecked: (swept) => emit({ type: 'checked', swept }),
      onOwnershipLost: () => emit({ type: 'ownership_lost' }),
      onRefused: (id, errors) => this.calls.refuse(id, errors),
    })
    void worker.ended.then(() => emit({ type: 'worker_ended' }))
    this.#endSupervision = superviseWorker({
      worker,
      story: ledger.story,
      warn: (kind, value, limit) => this.warn(kind, value, limit),
      onLifetimeOver: () => emit({ type: 'lifetime_over' }),
      watchdogMs,
    })
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Writes a warning about the worker to the journal, later where the disk is full now. */
  warn(kind: string, value: number, limit: number): void {
    const { ledger, write } = this.#parts
    write(() => ledger.record('platform.watchdog.warning', { kind, value, limit })).catch(() => {})
  }

  /** No warnings and no end of the lifetime from here on: the run is over. */
  endSupervision(): void {
    this.#endSupervision()
  }

  /** The worker has ended: the rest of its output goes into the log, before the end of the run is told. */
  async finishLog(): Promise<void> {
    this.calls.stopAnswering()
    await this.worker.channel.drain?.((bytes) => this.#log.skippedStdout(bytes)).catch(() => {})
    if (this.#isClosed) return
    tryAll(
      () => this.#stderr.drain(),
      () => this.#log.finish(),
    )
  }

  /** Disconnects from the worker without changing it, so that the next host can adopt it. */
  close(): void {
    this.#isClosed = true
    tryAll(
      () => this.#endSupervision(),
      () => this.sessions.close(),
      () => this.delivery.close(),
      () => this.monitor.close(),
      () => this.#stderr.close(),
      () => this.#log.close(),
      () => this.worker.release(),
    )
  }
}
