/** An error on its way from a command to the person or program that gave it, with what the catalogue cannot know. */
import type { ResolveError } from '../core/errors.ts'
import { fail } from '../core/errors.ts'
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

export function usage(problem: string, extras: ErrorExtras = {}): CommandError {
  return new CommandError(fail('usage', { problem }), extras, EXIT.usage)
}
