/** An error of a request as the page shows it: the server's message, or that the server is unreachable. */
import { type JsonOperation, type ResultOf, resultSchema } from '../../core/protocol/api/operations.ts'
import { type ErrorBody, errorBody, formErrorBody } from '../../core/protocol/http.ts'
import { fits } from '../../core/schema/fits.ts'

export class Problem extends Error {
  /** The HTTP status; 0 without a response. */
  readonly status: number
  /** The error code (docs/errors.md); `unreachable` without a response. */
  readonly code: string
  readonly hint: string | undefined
  /** All failing messages of a form; [] for other problems. */
  readonly errors: readonly string[]

  constructor(status: number, body: ErrorBody) {
    super(body.detail)
    this.name = 'Problem'
    this.status = status
    this.code = body.code ?? (body.errors === undefined ? 'unknown' : 'form_invalid')
    this.hint = body.hint
    this.errors = body.errors ?? []
  }
}

export function unreachable(): Problem {
  return new Problem(0, { detail: "Can't reach the server.", code: 'unreachable', hint: 'The page keeps trying.' })
}

/** An action that got no response, also when it was repeated: unlike a list, the page does not send it again by itself. */
export function unsent(): Problem {
  return new Problem(0, {
    detail: "Can't reach the server, so it is not known whether this arrived.",
    code: 'unreachable',
    hint: 'The page does not send it again by itself. What you typed is kept: look at the state, then send it again.',
  })
}

export function isUnreachable(error: unknown): boolean {
  return error instanceof Problem && error.code === 'unreachable'
}

/** A name or path that the browser would resolve into another address is never sent (threats UI-3). */
export function unaddressable(): Problem {
  return new Problem(400, {
    detail: 'The name or path is not valid.',
    code: 'path_refused',
    hint: 'It must not contain empty, "." or ".." parts.',
  })
}

/** The body of a successful answer, which fits the schema of the table. Throws a {@link Problem} for anything else. */
export async function jsonOf<N extends JsonOperation>(name: N, response: Response): Promise<ResultOf<N>> {
  const body: unknown = await response.json().catch(() => undefined)
  if (fits(resultSchema(name), body)) return body
  throw new Problem(response.status, {
    detail: 'The server gave an answer that this page does not understand.',
    code: 'server_strange',
    hint: 'Load the page again: the server may have been updated.',
  })
}

export function isRefusedToken(error: unknown): boolean {
  return error instanceof Problem && error.status === 401
}

/** Converts an error response to a Problem; also handles an HTML page of a proxy. */
export async function problemOf(response: Response): Promise<Problem> {
  const body = await response.json().catch(() => undefined)
  if (isErrorBody(body)) return new Problem(response.status, body)
  return new Problem(response.status, { detail: `The server answered ${response.status}.` })
}

/** Whether the resolver cannot be asked yet, because its setup runs (R48). */
export function isPreparing(error: unknown): error is Problem {
  return error instanceof Problem && error.code === 'resolver_preparing'
}

/** The message and hint of any error. */
export function sentenceOf(error: unknown): string {
  if (error instanceof Problem && error.hint !== undefined) return `${error.message} ${error.hint}`
  return error instanceof Error ? error.message : String(error)
}

function isErrorBody(value: unknown): value is ErrorBody {
  return fits(errorBody, value) || fits(formErrorBody, value)
}
