/** Reality checks as a resolver asks for them: a request to the host, its events and its result (spec, Reality check; docs/reality-check.md). */
import { randomBytes } from 'node:crypto'
import { fail, ResolveError, received } from '../../core/errors.ts'
import type { CheckResult } from '../../core/protocol/check/reality-check.ts'
import type { Peer } from '../../core/rpc/peer.ts'

export interface RealityCheckRequest {
  /** The address of a repository, with `@ref` for a branch, tag or commit. */
  software_path: string
  /** Plain language, or `{spec, checks, tests}`. */
  acceptance_criteria: string | Readonly<Record<string, unknown>>
  /** `{language, type, port, start, build, …}`; what is not given is found out. */
  environment?: Readonly<Record<string, unknown>>
  dtu_lifecycle?: 'auto' | 'keep' | 'destroy'
  /** Default 1200. */
  timeout_seconds?: number
  /** Asked twice with the same key, also by a run that goes on after a pause, it is one check. */
  key?: string
}

export interface CheckEvent {
  /** `reality_check.submitted`, `.recipe_step`, `.completed`, … */
  event_type: string
  data: Record<string, unknown>
}

export interface RealityCheck {
  readonly sessionId: string
  /** From the first event until the check has ended. */
  events(): AsyncIterable<CheckEvent>
  /** What came of it: also a check that failed or was cancelled has a result. */
  wait(): Promise<CheckResult>
  cancel(): Promise<void>
}

type Method = 'startRealityCheck' | 'realityCheckEvents' | 'waitForRealityCheck' | 'cancelRealityCheck'

const LOST = Symbol('lost')

/** The checks of one instance. A call that its host did not answer is sent to the next host. */
export class RealityChecks {
  readonly #peer: Peer
  readonly #token: string
  readonly #signal: AbortSignal
  readonly #lost = new Set<() => void>()
  #epoch: number

  constructor(peer: Peer, token: string, epoch: number, signal: AbortSignal) {
    this.#signal = signal
    this.#peer = peer
    this.#token = token
    this.#epoch = epoch
  }

  /** Another host adopted the worker: the earlier one will not answer any more. */
  adopted(epoch: number): void {
    if (epoch === this.#epoch) return
    this.#epoch = epoch
    for (const lose of [...this.#lost]) lose()
  }

  async start(request: RealityCheckRequest): Promise<RealityCheck> {
    const asked = { ...request, key: request.key ?? randomBytes(12).toString('hex') }
    const { session_id: id } = (await this.#call('startRealityCheck', asked)) as { session_id: string }
    return {
      sessionId: id,
      events: () => this.#events(id),
      wait: () => this.#wait(id),
      cancel: async () => {
        await this.#call('cancelRealityCheck', { session_id: id })
      },
    }
  }

  async *#events(id: string): AsyncGenerator<CheckEvent> {
    for (let after = 0; ; ) {
      const answer = await this.#call('realityCheckEvents', { session_id: id, after })
      const { events, next, done } = answer as { events: CheckEvent[]; next: number; done: boolean }
      yield* events
      after = next
      if (done && events.length === 0) return
    }
  }

  async #wait(id: string): Promise<CheckResult> {
    for (;;) {
      const answer = await this.#call('waitForRealityCheck', { session_id: id })
      const { done, result } = answer as { done: boolean; result?: CheckResult }
      if (done && result !== undefined) return result
    }
  }

  async #call(method: Method, params: Record<string, unknown>): Promise<unknown> {
    for (;;) {
      const answer = await this.#callOnce(method, params)
      if (answer !== LOST) return answer
    }
  }

  /** A stop of the instance ends the waiting: the host cancels its checks, or begins them anew after a pause. */
  async #callOnce(method: Method, params: Record<string, unknown>): Promise<unknown> {
    this.#signal.throwIfAborted()
    let lose = () => {}
    const lost = new Promise<typeof LOST>((resolve) => {
      lose = () => resolve(LOST)
    })
    this.#lost.add(lose)
    this.#signal.addEventListener('abort', lose)
    try {
      const sent = { ...params, token: this.#token, epoch: this.#epoch }
      const answer = await Promise.race([this.#peer.call(`platform.${method}`, sent, 0), lost])
      this.#signal.throwIfAborted()
      return answer
    } catch (error) {
      if (!(error instanceof ResolveError) || error.code !== 'resolver_refused') throw error
      const problem = String(error.details['detail'])
      throw (
        received({ detail: problem, code: error.details['code'] }) ??
        fail('check_invalid', { reason: problem.replace(/\.$/, '') })
      )
    } finally {
      this.#signal.removeEventListener('abort', lose)
      this.#lost.delete(lose)
    }
  }
}
