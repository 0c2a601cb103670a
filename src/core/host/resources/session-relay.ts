/**
 * Serves `platform.session.create`, `.run` and `.steer`: LLM sessions for a resolver without the SDK (docs/sessions.md, In other languages).
 * It passes each request to a helper beside the worker, which it starts at the first one. A helper that ends by itself is started again, and
 * gets the requests again that are under way: they have numbers, and what was answered is answered from the transcript.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { fail } from '../../errors.ts'
import * as limits from '../../limits.ts'
import { backoffMs } from '../../primitives/backoff.ts'
import { within } from '../../primitives/within.ts'
import { isAway } from '../../worker/engine/engine.ts'
import { type Admission, admitted, type CallParams, never } from '../checks/admission.ts'
import type { ResolverCalls } from '../launch/resolver-calls.ts'
import { failed, isLoss, SessionHelper, type SessionHelperParts } from './session-helper.ts'
import {
  CREATE,
  parseSessionCreation,
  parseSessionRun,
  parseSteering,
  RUN,
  refuse,
  type SessionCreation,
  STEER,
} from './session-requests.ts'

export interface SessionRelayParts extends SessionHelperParts, Admission {}

export class SessionRelay {
  readonly #parts: SessionRelayParts
  /** What opens each session in the next helper. */
  readonly #sessions = new Map<string, SessionCreation>()
  #keptBytes = 0
  #waiting = 0
  #helper: Promise<SessionHelper> | undefined
  /** Each helper that ended by itself is counted once. */
  readonly #lost = new WeakSet<SessionHelper>()
  #losses = 0
  #stopReason: string | undefined
  #isClosed = false

  constructor(parts: SessionRelayParts) {
    this.#parts = parts
  }

  serve(calls: ResolverCalls): void {
    calls.serve(CREATE, (params) => this.#admit(CREATE, params, (params) => this.#create(params)))
    calls.serve(RUN, (params) => this.#admit(RUN, params, (params) => this.#run(params)))
    calls.serve(STEER, (params) => this.#admit(STEER, params, (params) => this.#steer(params)))
  }

  /** The instance is being stopped or paused: sessions are aborted, and no more are opened. */
  stop(reason: string): void {
    this.#stopReason ??= reason
    this.#helper?.then((helper) => helper.stop(reason)).catch(() => undefined)
  }

  /** The run is over. `isOver`: it will not be resumed, so no turn of a session stays open. */
  async end(isOver: boolean): Promise<void> {
    this.#stopReason ??= 'the run is over'
    if (this.#helper === undefined) return this.close()
    const starting = this.#helper.catch(() => undefined)
    const helper = await within(limits.SESSION_HELPER_END_MS, starting)
    if (!this.#isClosed) await helper?.end(isOver)
    this.close()
  }

  /** Releases the worker: its helper ends, and the next host starts another. */
  close(): void {
    this.#isClosed = true
    this.#helper?.then((helper) => helper.close()).catch(() => undefined)
  }

  async #admit(method: string, received: unknown, work: (params: CallParams) => Promise<unknown>): Promise<unknown> {
    const params = admitted(received, this.#parts, (reason) => refuse(method, reason))
    if (params === undefined || this.#isClosed) return await never()
    if (this.#waiting >= limits.SESSION_REQUESTS_MAX)
      throw fail('too_many', { what: 'requests of sessions at once', limit: limits.SESSION_REQUESTS_MAX })
    this.#waiting += 1
    try {
      return await work(params)
    } finally {
      this.#waiting -= 1
    }
  }

  async #create(params: CallParams): Promise<{ session_id: string }> {
    const creation = parseSessionCreation(params)
    const { id, text } = creation
    const known = this.#sessions.get(id)
    if (known !== undefined) {
      if (known.text !== text) throw refuse(CREATE, `"${id}" was opened as another session, or with other options`)
      return { session_id: id }
    }
    if (this.#keptBytes + text.length > limits.SESSION_OPTIONS_KEPT_BYTES)
      throw refuse(CREATE, `the options of all sessions have more than ${limits.SESSION_OPTIONS_KEPT_BYTES} bytes`)
    await this.#ask((helper) => helper.open(creation))
    if (!this.#sessions.has(id)) this.#keptBytes += text.length
    this.#sessions.set(id, creation)
    return { session_id: id }
  }

  async #run(params: CallParams): Promise<unknown> {
    const run = parseSessionRun(params)
    const creation = this.#opened(run.session_id)
    const answer = await this.#ask(async (helper) => {
      await helper.open(creation)
      return await helper.call('session.run', run)
    })
    this.#losses = 0
    return answer
  }

  async #steer(params: CallParams): Promise<unknown> {
    // The next helper knows what a lost one has taken.
    const steering = { ...parseSteering(params), key: randomUUID() }
    const creation = this.#opened(steering.session_id)
    return await this.#ask(async (helper) => {
      await helper.open(creation)
      return await helper.call('session.steer', steering)
    })
  }

  #opened(id: string): SessionCreation {
    const creation = this.#sessions.get(id)
    if (creation === undefined) throw fail('session_not_open', { session: id })
    return creation
  }

  /** Asks the helper, and each next one where it ends before it answers. */
  async #ask<T>(ask: (helper: SessionHelper) => Promise<T>): Promise<T> {
    const deadline = Date.now() + limits.ENGINE_PATIENCE_MS
    for (let tries = 0; ; tries += 1) {
      if (this.#isClosed) return await never()
      if (this.#stopReason !== undefined) throw fail('instance_stopped', { reason: this.#stopReason })
      let helper: SessionHelper | undefined
      try {
        helper = await this.#reach()
        return await ask(helper)
      } catch (error) {
        if (helper !== undefined && isLoss(error)) await this.#noteLoss(helper)
        // Its container may be running: the engine comes back.
        else if (isAway(error) && Date.now() < deadline)
          await pause(backoffMs(tries, limits.ENGINE_RETRY_MIN_MS, limits.ENGINE_RETRY_MAX_MS))
        else throw error
      }
    }
  }

  async #reach(): Promise<SessionHelper> {
    const helper = this.#helper ?? SessionHelper.start(this.#parts)
    this.#helper = helper
    try {
      return await helper
    } catch (error) {
      if (this.#helper === helper) this.#helper = undefined
      throw error
    }
  }

  async #noteLoss(helper: SessionHelper): Promise<void> {
    if (this.#isClosed || this.#stopReason !== undefined) return
    if (!this.#lost.has(helper)) {
      this.#lost.add(helper)
      this.#losses += 1
      this.#helper = undefined
      helper.close()
      const how = await helper.ended
      this.#parts.log('warn', `sessions: their helper was lost (${how}), for the ${this.#losses}. time`)
    }
    if (this.#losses >= limits.SESSION_HELPER_LOSSES_MAX) throw failed(await helper.ended)
    await pause(backoffMs(this.#losses - 1, limits.SESSION_HELPER_RETRY_MIN_MS, limits.SESSION_HELPER_RETRY_MAX_MS))
  }
}

function pause(ms: number): Promise<void> {
  return sleep(ms, undefined, { ref: false })
}
