/**
 * Sends input requests: writes a request's file and resolves with its answer once, from the host's call or from the response
 * file, whichever comes first (spec, request_input; R25, R30, R42). A response on disk from before a pause counts at once.
 */
import { mkdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fail, type ResolveError } from '../../core/errors.ts'
import { isRequestId, refusalFile, requestFile, responseFile } from '../../core/protocol/coordination.ts'
import type { Form, Payload } from '../../core/protocol/form.ts'
import type { InputRequest } from '../../core/protocol/instance.ts'
import { replaceFile } from './replace-file.ts'
import type { RetryingDisk } from './retry-while-disk-full.ts'
import { secondsSince } from './seconds-since.ts'
import { readJsonObject } from './state-file.ts'

/** The host's call is fast; checking the file periodically makes it certain. */
const CHECK_MS = 500

export interface RequestsOptions {
  dir: string
  disk: RetryingDisk
  /** Aborted by a stop: no more requests are sent. */
  signal: AbortSignal
  emit: (eventType: string, data: Record<string, unknown>) => void
  /** Called once for each answered request. */
  onAnswer: (requestId: string, payload: Payload) => void
}

interface Pending {
  resolve: (payload: Payload) => void
  reject: (error: ResolveError) => void
  /** Seconds of the process's monotonic clock. */
  askedAt: number
}

export class Requests {
  readonly #options: RequestsOptions
  readonly #asked = new Set<string>()
  readonly #answered = new Set<string>()
  readonly #pending = new Map<string, Pending>()
  #polling: NodeJS.Timeout | undefined

  constructor(options: RequestsOptions) {
    this.#options = options
    options.signal.addEventListener('abort', () => this.#cancelAll(), { once: true })
  }

  /**
   * Rejects with `request_id_invalid`, `request_repeated`, `form_malformed` when the host refuses the form, and with
   * the stop's reason.
   */
  ask(id: string, prompt: string, schema: Form): Promise<Payload> {
    const answer = this.#ask(id, prompt, schema)
    // A rejected request that the author no longer awaits must not end the process as an unhandled rejection.
    answer.catch(() => {})
    return answer
  }

  /** The host's call. A repeated call changes nothing. */
  answer(id: string, payload: Payload): void {
    if (this.#answered.has(id)) return
    this.#answered.add(id)
    this.#settle(id, 'answered')?.resolve(payload)
    this.#options.onAnswer(id, payload)
  }

  refuse(id: string, errors: readonly string[]): void {
    this.#settle(id, 'refused')?.reject(fail('form_malformed', { where: `input request "${id}"`, errors }))
  }

  close(): void {
    clearInterval(this.#polling)
  }

  async #ask(id: string, prompt: string, schema: Form): Promise<Payload> {
    const { signal, emit } = this.#options
    signal.throwIfAborted()
    if (!isRequestId(id)) throw fail('request_id_invalid', { request: String(id) })
    if (this.#asked.has(id)) throw fail('request_repeated', { request: id })
    this.#asked.add(id)
    const earlier = readJsonObject(join(this.#options.dir, responseFile(id)))
    if (earlier !== undefined) return earlier
    return await new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject, askedAt: process.uptime() })
      this.#write({ id, prompt, schema, status: 'pending' })
      emit('resolver:input_requested', { request_id: id, prompt })
      this.#polling ??= setInterval(() => this.#check(), CHECK_MS)
    })
  }

  #write(request: InputRequest): void {
    const path = join(this.#options.dir, requestFile(request.id))
    const text = JSON.stringify(request)
    this.#options.disk.do(() => {
      mkdirSync(dirname(path), { recursive: true })
      rmSync(join(this.#options.dir, refusalFile(request.id)), { force: true })
      replaceFile(path, text)
    })
  }

  #check(): void {
    for (const id of [...this.#pending.keys()]) {
      const payload = readJsonObject(join(this.#options.dir, responseFile(id)))
      if (payload !== undefined) this.answer(id, payload)
      const refusal = readJsonObject(join(this.#options.dir, refusalFile(id)))
      if (Array.isArray(refusal?.['errors'])) this.refuse(id, refusal['errors'].map(String))
    }
  }

  #settle(id: string, outcome: 'answered' | 'refused' | 'cancelled'): Pending | undefined {
    const pending = this.#pending.get(id)
    if (pending === undefined) return undefined
    this.#pending.delete(id)
    if (this.#pending.size === 0) {
      clearInterval(this.#polling)
      this.#polling = undefined
    }
    const duration_s = secondsSince(pending.askedAt)
    this.#options.emit('resolver:input_responded', { request_id: id, outcome, duration_s })
    return pending
  }

  #cancelAll(): void {
    for (const id of [...this.#pending.keys()]) this.#settle(id, 'cancelled')?.reject(this.#options.signal.reason)
  }
}
