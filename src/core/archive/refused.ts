/** The error of an archive that is not taken. */
import { fail, type ResolveError } from '../errors.ts'

export function refused(problem: string, cause?: unknown): ResolveError {
  return fail('archive_refused', { problem }, { cause })
}
