/**
 * One session helper: {@link file://./../../../sdk/helper/main.ts}, the program beside a worker that runs LLM sessions for a resolver without
 * the SDK. What it answers is as trusted as the worker itself. {@link file://./session-relay.ts} starts and ends it.
 */
import { randomBytes } from 'node:crypto'
import { fail, ResolveError, received } from '../../errors.ts'
import {
  LOG_LINE_MAX_BYTES,
  SESSION_HELPER_END_MS,
  SESSION_HELPER_NOISE_MAX,
  SESSION_HELPER_START_MS,
} from '../../limits.ts'
import { isObject } from '../../primitives/is-object.ts'
import { within } from '../../primitives/within.ts'
import { LineSplitter } from '../../rpc/lines.ts'
import { Peer } from '../../rpc/peer.ts'
import { isAway } from '../../worker/engine/engine.ts'
import type { Helper, HelperPlan, Worker } from '../../worker/worker.ts'
import type { SessionCreation } from './session-requests.ts'

const PROGRAM = 'sdk/session-helper.js'

export interface SessionHelperParts {
  worker: Worker
  /** Where it runs, and with which variables. */
  place: () => Pick<HelperPlan, 'directory' | 'environment' | 'tools'>
  log: (level: string, message: string) => void
  /** It wrote events of the resolver. */
  onEvent: () => void
}

export class SessionHelper {
  readonly #helper: Helper
  readonly #peer: Peer
  readonly #opened = new Map<string, Promise<unknown>>()
  #noise = 0

  /** Throws `session_helper_failed`. */
  static async start(parts: SessionHelperParts): Promise<SessionHelper> {
    const stderr = new LineSplitter(LOG_LINE_MAX_BYTES)
    const onStderr = (bytes: Buffer) => {
      for (const line of stderr.push(bytes)) parts.log('warn', `sessions: ${line.bytes?.toString('utf8') ?? ''}`)
    }
    const plan = { ...parts.place(), program: PROGRAM, mark: randomBytes(8).toString('hex'), onStderr }
    const helper = await parts.worker.startHelper(plan).catch((error: unknown) => {
      throw isAway(error) ? error : failed(error instanceof Error ? error.message : String(error), error)
    })
    const started = new SessionHelper(helper, parts)
    try {
      await started.#peer.call('session.open', {}, SESSION_HELPER_START_MS)
      return started
    } catch (error) {
      const how = isLoss(error) ? await within(SESSION_HELPER_END_MS, helper.ended) : detailOf(error)
      started.close()
      throw failed(how ?? 'it does not answer', error)
    }
  }

  private constructor(helper: Helper, { log, onEvent }: SessionHelperParts) {
    this.#helper = helper
    this.#peer = new Peer(helper.channel, {
      onNoise: () => {
        this.#noise += 1
        if (this.#noise > SESSION_HELPER_NOISE_MAX) this.close()
      },
    })
    this.#peer.handle('resolver.event', onEvent)
    this.#peer.handle('resolver.log', (params) => {
      const { level, message } = isObject(params) ? params : {}
      log(String(level), String(message))
    })
  }

  /** How it ended, in words. */
  get ended(): Promise<string> {
    return this.#helper.ended
  }

  /** Opens a session once. Throws the error of the catalogue that the helper tells, and `connection_closed`. */
  async open({ id, params }: SessionCreation): Promise<void> {
    const opening = this.#opened.get(id) ?? this.call('session.create', params)
    this.#opened.set(id, opening)
    try {
      await opening
    } catch (error) {
      this.#opened.delete(id)
      throw error
    }
  }

  /** Without a limit of time: a run lasts as long as its model. Throws as {@link open}. */
  async call(method: `session.${string}`, params: object): Promise<unknown> {
    let answer: unknown
    try {
      answer = await this.#peer.call(method, params, 0)
    } catch (error) {
      throw isLoss(error) ? error : failed(detailOf(error), error)
    }
    if (!isObject(answer)) throw failed('an answer cannot be read')
    if (!('error' in answer)) return answer['value']
    throw received(answer['error']) ?? failed(detailOf(answer['error']))
  }

  /** The instance is being stopped: what is under way is aborted. */
  stop(reason: string): void {
    this.#peer.notify('session.stop', { reason })
  }

  /** Ends it in order. `isOver`: no turn stays open, because the run will not be resumed. */
  async end(isOver: boolean): Promise<void> {
    await this.#peer.call('session.end', { is_over: isOver }, SESSION_HELPER_END_MS).catch(() => undefined)
    this.close()
    await within(SESSION_HELPER_END_MS, this.#helper.ended, { ref: false })
  }

  /** It ends with its input. Turns that are under way stay open. */
  close(): void {
    this.#peer.close()
  }
}

export function isLoss(error: unknown): boolean {
  return error instanceof ResolveError && error.code === 'connection_closed'
}

export function failed(reason: string, cause?: unknown): ResolveError {
  return fail('session_helper_failed', { reason: reason.replace(/\.$/, '') }, { cause })
}

function detailOf(error: unknown): string {
  if (error instanceof ResolveError && typeof error.details['detail'] === 'string') return error.details['detail']
  const detail = isObject(error) ? (error['detail'] ?? error['message']) : error
  return typeof detail === 'string' ? detail : 'it told an error that cannot be read'
}
