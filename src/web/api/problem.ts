/** What went wrong with a request, as the page shows it: the server's own words, or that it can't be reached. */
import type { ErrorBody } from '../../core/protocol/http.ts'

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
  return typeof value === 'object' && value !== null && 'detail' in value && typeof value.detail === 'string'
}
