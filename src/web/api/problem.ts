/** What went wrong with a request, as the page shows it: the server's own words, or that it can't be reached. */
import { type JsonOperation, type ResultOf, resultSchema } from '../../core/protocol/api/operations.ts'
import { fits } from '../../core/protocol/fits.ts'
import { type ErrorBody, errorBody, formErrorBody } from '../../core/protocol/http.ts'

export class Problem extends Error {
  /** The HTTP status; 0 where no answer came. */
  readonly status: number
  /** Of the catalogue of errors (docs/errors.md); `unreachable` where no answer came. */
  readonly code: string
  readonly hint: string | undefined
  /** Every failing message of a form; [] for any other problem. */
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
  return new Problem(0, { detail: "Can't reach the server.", code: 'unreachable', hint: 'The page goes on trying.' })
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

/** Reads the body of an answer that is no success; a proxy's page of HTML becomes a sentence too. */
export async function problemOf(response: Response): Promise<Problem> {
  const body = await response.json().catch(() => undefined)
  if (isErrorBody(body)) return new Problem(response.status, body)
  return new Problem(response.status, { detail: `The server answered ${response.status}.` })
}

/** Any error as a sentence for a person. */
export function sentenceOf(error: unknown): string {
  if (error instanceof Problem && error.hint !== undefined) return `${error.message} ${error.hint}`
  return error instanceof Error ? error.message : String(error)
}

function isErrorBody(value: unknown): value is ErrorBody {
  return fits(errorBody, value) || fits(formErrorBody, value)
}
