/** An error of a command: an error of the catalogue with the fields, the commands to run next and the exit code. */
import { type ErrorCode, fail, ResolveError } from '../../core/errors.ts'
import type { ErrorExtras } from './documents.ts'
import { EXIT } from './exit-codes.ts'

/** Wraps an error of the catalogue and adds its fields and the commands to run next. */
export class CommandError extends Error {
  readonly error: ResolveError
  readonly extras: ErrorExtras
  readonly exitCode: number

  constructor(error: ResolveError, extras: ErrorExtras = {}, exitCode: number = error.exitCode) {
    super(error.message, { cause: error })
    this.name = 'CommandError'
    this.error = error
    this.extras = extras
    this.exitCode = exitCode
  }
}

/** A copy of the error with another message and hint, for a command that knows more details. */
export function withSentence(
  cause: ResolveError,
  code: ErrorCode,
  said: { message: string; hint: string | undefined },
) {
  return new ResolveError(code, cause.details, cause, { ...said, outside: undefined })
}

export function usage(problem: string, extras: ErrorExtras = {}): CommandError {
  return new CommandError(fail('usage', { problem }), extras, EXIT.usage)
}
