/** The host's calls to a resolver, each with its time limit (spec, RPC timeouts), over one worker's channel. */
import { fail, ResolveError } from '../../errors.ts'
import * as limits from '../../limits.ts'
import { isWithinDepth } from '../../primitives/json-depth.ts'
import type { HostCall, HostCalls } from '../../protocol/methods.ts'
import { INPUT_REFUSED, SHUTDOWN } from '../../protocol/methods.ts'
import { Redactor } from '../../redaction/redact.ts'
import type { Channel } from '../../rpc/channel.ts'
import { Peer } from '../../rpc/peer.ts'

/** Milliseconds; 0 for no limit. */
const CALL_LIMITS: Readonly<Record<HostCall, number>> = {
  'resolver.initialize': limits.INITIALIZE_LIMIT_MS,
  'resolver.run': 0,
  'resolver.stop': limits.STOP_LIMIT_MS,
  'resolver.inputResponse': limits.INPUT_RESPONSE_LIMIT_MS,
  'resolver.message': limits.MESSAGE_LIMIT_MS,
  'resolver.getInstantiationSchema': limits.SCHEMA_LIMIT_MS,
  'resolver.getWorkspaceSpec': limits.WORKSPACE_SPEC_LIMIT_MS,
  'resolver.getMessageTypes': limits.MESSAGE_TYPES_LIMIT_MS,
}

export interface CallsOptions {
  epoch: number
  /** Redacts known secrets in the resolver's answers, because consumers get them. */
  /** The redactor as it is now: the values of secret answers are added during a run. */
  redactor?: () => Redactor
  /** "Check now": the events file has new lines. */
  onEvent?: () => void
  /** The result is in `status.json`. */
  onFinished?: () => void
  /** What the resolver tells of itself (R52): untrusted. */
  onIdentity?: (told: unknown) => void
  onLog?: (level: string, message: string) => void
  /** A line on stdout that is no frame. */
  onNoise?: (line: string) => void
  /** Too much output on stdout that is not JSON-RPC (R41, threats RPC-1). */
  onProtocolError?: (detail: string) => void
}

export class ResolverCalls {
  readonly #peer: Peer
  readonly #options: CallsOptions
  #noiseLines = 0
  #noiseBytes = 0
  #protocolError: string | undefined

  constructor(channel: Channel, options: CallsOptions) {
    this.#options = options
    this.#peer = new Peer(channel, {
      epoch: options.epoch,
      onNoise: (line, why) => {
        if (why === 'not_json_rpc') this.#countNoise(line)
      },
    })
    this.#peer.handle('resolver.event', () => options.onEvent?.())
    this.#peer.handle(
      'resolver.finished',
      oncePerTurn(() => options.onFinished?.()),
    )
    this.#peer.handle('resolver.identity', (params) => options.onIdentity?.(params))
    this.#peer.handle('resolver.log', (params) => {
      const { level, message } = (params ?? {}) as Record<string, unknown>
      options.onLog?.(String(level), String(message))
    })
  }

  /** The noise that was too much; after it, everything from this resolver is ignored. */
  get protocolError(): string | undefined {
    return this.#protocolError
  }

  /** Registers the handler of a call that the resolver makes (R40). */
  serve(method: `platform.${string}`, answer: (params: unknown) => Promise<unknown>): void {
    this.#peer.handle(method, answer)
  }

  /** Throws `resolver_silent` after the method's limit, `resolver_refused`, or `resolver_gone`. */
  async call<M extends HostCall>(
    method: M,
    params: HostCalls[M]['params'],
    limitMs = CALL_LIMITS[method],
  ): Promise<unknown> {
    const redactor = this.#options.redactor?.() ?? Redactor.idle
    try {
      const answer = await this.#peer.call(method, params, limitMs)
      if (isWithinDepth(answer, ANSWER_MAX_DEPTH)) return redactor.value(answer)
      throw fail('resolver_refused', { method, detail: 'its answer nests too deep', rpc: 0 })
    } catch (error) {
      throw error instanceof ResolveError ? withoutSecrets(error, redactor) : error
    }
  }

  /** Calls an optional method: returns null where the resolver does not have it. */
  async ask<M extends HostCall>(method: M, params: HostCalls[M]['params']): Promise<unknown> {
    try {
      return await this.call(method, params)
    } catch (error) {
      if (error instanceof ResolveError && error.details['rpc'] === METHOD_NOT_FOUND) return null
      throw error
    }
  }

  /** R30: notifies the resolver that a request cannot be asked. */
  refuse(requestId: string, errors: readonly string[]): void {
    this.#peer.notify(INPUT_REFUSED, { request_id: requestId, errors })
  }

  /** The worker has ended: what it still wanted from the host is not done, what it told is. */
  stopAnswering(): void {
    this.#peer.stopAnswering()
  }

  shutdown(): void {
    this.#peer.notify(SHUTDOWN, {})
  }

  #countNoise(line: string): void {
    this.#noiseLines += 1
    this.#noiseBytes += line.length
    this.#options.onNoise?.(line)
    const isTooMuch =
      this.#noiseLines > limits.STDOUT_NOISE_MAX_LINES || this.#noiseBytes > limits.STDOUT_NOISE_MAX_BYTES
    if (!isTooMuch) return
    // Parsing each line of a flood would block all other work until the sender has ended (threats RPC-5).
    this.#peer.ignoreIncoming()
    this.#protocolError = `${this.#noiseLines} lines on stdout were not JSON-RPC`
    this.#options.onProtocolError?.(this.#protocolError)
  }
}

/** Many "check now" notifications in one turn count as two: the first and the last. */
function oncePerTurn(notify: () => void): () => void {
  let again: boolean | undefined
  return () => {
    if (again !== undefined) {
      again = true
      return
    }
    again = false
    notify()
    setImmediate(() => {
      if (again) notify()
      again = undefined
    })
  }
}

/** The error itself where it contains no secret. The cause is dropped otherwise, because it would contain the secret again. */
function withoutSecrets(error: ResolveError, redactor: Redactor): ResolveError {
  const details = redactor.value(error.details)
  return details === error.details ? error : fail(error.code as 'resolver_refused', details as never)
}

const METHOD_NOT_FOUND = -32601
/** Each level of a form takes several levels of JSON; deeper values cannot be valid forms. */
const ANSWER_MAX_DEPTH = 4 * limits.JSON_MAX_DEPTH
