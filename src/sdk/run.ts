/**
 * One run of a resolver: created → run() → completed → `status.json` → resolver.finished. This order holds on every exit path,
 * also for exceptions, stops, process.exit and SIGTERM (spec, Rules for run(); R21, R23).
 */
import { join } from 'node:path'
import { ResolveError } from '../core/errors.ts'
import { STATUS_FILE } from '../core/protocol/coordination.ts'
import type { Payload } from '../core/protocol/form.ts'
import { RESULT_STATUSES, type ResolverResult } from '../core/protocol/instance.ts'
import type { Peer } from '../core/rpc/peer.ts'
import { decideEnding, type Outcome } from './ending.ts'
import type { ResolverContract } from './instance/contract.ts'
import type { InstanceContext } from './instance/instance-context.ts'
import { replaceFile } from './instance/replace-file.ts'
import { secondsSince } from './instance/seconds-since.ts'
import { LazySessions } from './instance/sessions.ts'
import { ownPlace } from './own-place.ts'

export class Run {
  readonly #resolver: ResolverContract
  readonly #instance: InstanceContext
  readonly #peer: Peer
  readonly #sessions: LazySessions
  readonly #startedAt = process.uptime()
  readonly #handled = new Set<number>()
  #stopReason: string | undefined
  #stopping: Promise<void> = Promise.resolve()
  #messages: Promise<void> = Promise.resolve()
  #result: ResolverResult | undefined
  #isWritten = false

  constructor(resolver: ResolverContract, instance: InstanceContext, peer: Peer) {
    this.#resolver = resolver
    this.#instance = instance
    this.#peer = peer
    this.#sessions = new LazySessions(instance)
  }

  get isOver(): boolean {
    return this.#result !== undefined
  }

  /** Resolves when the result is written. Never rejects. */
  async start(resume: boolean): Promise<void> {
    process.on('uncaughtException', (error) => this.#leave({ threw: error }, 1))
    process.on('SIGTERM', () => this.#leave({ left: 'ended by SIGTERM' }, 143))
    process.on('exit', (code) => {
      this.#finish({ left: `the process ended itself with code ${code} before run() returned` })
      this.#instance.disk.tryNow()
    })
    const { config } = this.#instance
    if (!resume) this.#emitCreated()
    let outcome: Outcome
    try {
      this.#instance.signal.throwIfAborted()
      outcome = { returned: toResult(await this.#resolver.run(config, this.#sessions, this.#instance, resume)) }
    } catch (error) {
      outcome = { threw: error }
    }
    // stop() may save a checkpoint, so the result waits for it.
    await this.#stopping
    this.#finish(outcome)
  }

  /** A repeated call with the same reason changes nothing. */
  stop(reason: string): void {
    if (this.isOver || this.#stopReason === reason) return
    this.#stopReason = reason
    this.#stopping = settled('stop', () => this.#resolver.stop(reason), this.#stopping)
    this.#instance.stop(reason)
  }

  /** Passes messages to the resolver one after another, each number once (R42). */
  message(type: string, payload: Payload, number: number | undefined): void {
    if (number !== undefined && this.#handled.has(number)) return
    if (number !== undefined) this.#handled.add(number)
    const deliver = () => this.#resolver.onMessage(this.#instance.config, type, payload)
    this.#messages = settled(`message "${type}"`, deliver, this.#messages)
  }

  /** Reports the result again, to a host that adopted the worker later. */
  reportAgain(): void {
    if (this.#isWritten) this.#peer.notify('resolver.finished', { result: this.#result })
  }

  /** Ends the process now. A run that has not returned gets its result first. */
  leave(): void {
    this.#leave({ left: 'ended by resolver.shutdown' }, 0)
  }

  /** Without the secret fields: the events file is kept as it is. */
  #emitCreated(): void {
    const { config } = this.#instance
    const { secret_fields: secret = [] } = config
    this.#instance.emit('resolver:created', {
      resolver_name: this.#resolver.name,
      resolver_version: this.#resolver.version,
      instance_id: config.instance_id,
      params: Object.fromEntries(Object.entries(config.params).filter(([field]) => !secret.includes(field))),
      capabilities_granted: config.capabilities ?? [],
    })
  }

  #leave(outcome: Outcome, exitCode: number): void {
    this.#finish(outcome)
    this.#instance.disk.tryNow()
    process.exit(exitCode)
  }

  /** All writes here are retried while the disk is full, so a full disk delays the end but never reorders it. */
  #finish(outcome: Outcome): void {
    if (this.isOver) return
    const circumstances = {
      stopReason: this.#stopReason,
      supportsResume: this.#resolver.supportsResume,
      hasCheckpoint: this.#instance.checkpoint.exists,
      placeOf: (error: Error) => ownPlace(error),
    }
    const { result, completed } = decideEnding(outcome, circumstances)
    if ('threw' in outcome && result.status === 'failed' && outcome.threw instanceof Error)
      console.error(shownOf(outcome.threw))
    this.#result = {
      status: result.status,
      output: result.output ?? null,
      error: result.error ?? null,
      sessions_used: result.sessions_used ?? this.#sessions.used,
    }
    const instance = this.#instance
    this.#endSessions(result)
    instance.emit('resolver:completed', {
      outcome: completed.outcome,
      summary: completed.summary,
      duration_s: secondsSince(this.#startedAt),
      artifact_count: instance.artifacts,
      ...(completed.error === undefined ? {} : { error: completed.error }),
    })
    instance.close()
    const text = JSON.stringify(this.#result)
    instance.disk.do(() => {
      // Paused needs a checkpoint (spec, States and transitions). An empty one means: start from the beginning.
      if (result.status === 'paused' && !instance.checkpoint.exists) instance.checkpoint.save(null)
      replaceFile(join(instance.dir, STATUS_FILE), text, true)
      this.#isWritten = true
      this.reportAgain()
    })
  }

  /** A turn of a session that a pause cut stays open, for the resume. */
  #endSessions({ status, error }: ResolverResult): void {
    if (status === 'paused') return
    try {
      this.#sessions.endOpen({ code: 'instance_stopped', detail: error ?? `the run ended as ${status}` })
    } catch (thrown) {
      console.error('The end of a session could not be written:', thrown)
    }
  }
}

/** The return value of run() as a ResolverResult; undefined where it returned nothing. */
function toResult(returned: unknown): ResolverResult | undefined {
  if (returned === undefined || returned === null) return undefined
  if (typeof returned === 'string') return { status: 'completed', output: returned }
  const result = returned as ResolverResult
  if (RESULT_STATUSES.includes(result.status)) return result
  return {
    status: 'failed',
    error: `run() returned neither a text nor a result with a status of ${RESULT_STATUSES.join(', ')}`,
  }
}

/** Of an error of the catalogue what it says and where: its fields and causes can be a page, with what was sent to a provider. */
function shownOf(error: Error): unknown {
  return error instanceof ResolveError ? error.stack : error
}

/** Calls the author's code after `before`, and writes its error to stderr: a failing handler does not end the run. */
async function settled(what: string, call: () => unknown, before: Promise<void>): Promise<void> {
  await before
  try {
    await call()
  } catch (error) {
    console.error(`The resolver's handler of ${what} failed:`, error)
  }
}
