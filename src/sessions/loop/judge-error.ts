/** Whether a failed call of a model is made again, and when: pure. {@link file://./ask-model.ts} asks it. */
import { APICallError } from 'ai'
import { SESSION_RETRY_AFTER_MAX_MS, SESSION_RETRY_MAX_MS, SESSION_RETRY_SPREAD } from '../../core/limits.ts'
import { backoffMs } from '../../core/primitives/backoff.ts'
import { isObject } from '../../core/primitives/is-object.ts'

export interface Judged {
  again: boolean
  /** As the provider said it; may hold anything that the request held. */
  reason: string
  status: number | undefined
  /** What Retry-After says. */
  waitMs: number | undefined
  /** The request was longer than the model's window. */
  isTooLong: boolean
  /** A shorter answer must be asked for. */
  isOutputTooLong: boolean
  /** All that the provider said. */
  told: string
}

/** These say that the request itself is wrong: asking again changes nothing. */
const FINAL_STATUSES = [400, 401, 403, 404, 413, 422]
const FINAL_TYPES = /^(?:invalid_request|authentication|permission|not_found|request_too_large|billing)/

export function judgeError(error: unknown, now = Date.now()): Judged {
  const reason = reasonOf(error)
  if (!APICallError.isInstance(error)) {
    // An error event within a stream, a connection that broke, a provider that went silent.
    const type = isObject(error) ? String(error['type'] ?? error['code'] ?? '') : ''
    const told = `${reason} ${type}`
    const again = !FINAL_TYPES.test(type)
    return { again, reason, status: undefined, waitMs: undefined, ...lengthOf(told), told }
  }
  const { statusCode: status, responseHeaders = {}, isRetryable } = error
  const waitMs = retryAfterMs(responseHeaders, now)
  const isFinal = status !== undefined && FINAL_STATUSES.includes(status)
  const mayWait = waitMs === undefined || waitMs <= SESSION_RETRY_AFTER_MAX_MS
  const again = !isFinal && mayWait && (isRetryable || status === undefined || status === 200 || status >= 500)
  const told = `${reason} ${(error.responseBody ?? '').slice(0, BODY_MAX_CHARS)}`
  const length = isFinal ? lengthOf(told) : { isTooLong: false, isOutputTooLong: false }
  return { again, reason, status, waitMs, ...length, told }
}

const BODY_MAX_CHARS = 10_000

/** The wait before a try: what the provider says, else a doubled one, a little shorter or longer so that sessions spread. */
export function retryWaitMs(
  attempt: number,
  asked: number | undefined,
  leastMs: number,
  random = Math.random(),
): number {
  if (asked !== undefined) return asked
  const spread = 1 + SESSION_RETRY_SPREAD * (2 * random - 1)
  return Math.round(Math.min(SESSION_RETRY_MAX_MS, backoffMs(attempt - 1, leastMs, SESSION_RETRY_MAX_MS) * spread))
}

function retryAfterMs(headers: Readonly<Record<string, string>>, now: number): number | undefined {
  const inMs = Number(headers['retry-after-ms'])
  if (headers['retry-after-ms'] !== undefined && Number.isFinite(inMs) && inMs >= 0) return inMs
  const text = headers['retry-after']
  if (text === undefined) return undefined
  const seconds = Number(text)
  if (Number.isFinite(seconds)) return seconds >= 0 ? seconds * 1_000 : undefined
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}

const TOO_LONG =
  /(?:prompt|context|input|request)[^.]{0,60}(?:too (?:long|large|many)|exceed|maximum|window)|maximum context length|reduce the length of the (?:messages|prompt|input)|context_length_exceeded/i

const OUTPUT_TOO_LONG =
  /max_?(?:(?:completion|output|new)_?)?tokens?\b[^.]{0,120}(?:too large|>|<=|range|at most|must be|less than|supports)|maximum (?:allowed )?(?:number of )?(?:output|completion) tokens/i

function lengthOf(told: string): { isTooLong: boolean; isOutputTooLong: boolean } {
  // A request whose length and answer together are too long is made shorter.
  const isOutputTooLong = OUTPUT_TOO_LONG.test(told) && !/input length/i.test(told)
  return { isTooLong: !isOutputTooLong && TOO_LONG.test(told), isOutputTooLong }
}

function reasonOf(error: unknown): string {
  if (error instanceof Error) {
    const { cause } = error
    const below = cause instanceof Error && !error.message.includes(cause.message) ? ` (${cause.message})` : ''
    return `${error.message}${below}`
  }
  if (isObject(error) && typeof error['message'] === 'string') return error['message']
  return typeof error === 'string' ? error : JSON.stringify(error)
}
