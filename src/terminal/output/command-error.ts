/** An error on its way from a command to the person or program that gave it, with what the catalogue cannot know. */
import { type ErrorCode, fail, ResolveError } from '../../core/errors.ts'
import type { ErrorExtras } from './documents.ts'
import { EXIT } from './exit-codes.ts'

/** Wraps an error of the catalogue with the fields it is about and the commands to run next. */
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

/** An error with another sentence, where the command knows more than whoever met it. */
export function retold(cause: ResolveError, code: ErrorCode, said: { message: string; hint: string | undefined }) {
  return new ResolveError(code, cause.details, cause, { ...said, outside: undefined })
}

export function usage(problem: string, extras: ErrorExtras = {}): CommandError {
  return new CommandError(fail('usage', { problem }), extras, EXIT.usage)
}
