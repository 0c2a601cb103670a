/** What ends a check before its tests are over: thrown by its stages, caught by run-check.ts. */
import { ResolveError } from '../../errors.ts'
import type { Stage } from '../../protocol/check/reality-check.ts'
import type { Ending } from '../verdict/verdict.ts'

type Mode = Ending['mode']

export class CheckEnd {
  readonly ending: Ending
  /** The end of what was printed. */
  readonly log: string

  constructor(stage: Stage, mode: Mode, error: string, log = '') {
    this.ending = { stage, mode, error }
    this.log = log
  }
}

const OF_REQUEST = ['check_invalid', 'image_missing', 'git_missing', 'workspace_invalid']
/** What git says of a repository that is not there, is not open, or is too large: the caller can mend it. */
const OF_ADDRESS =
  /not found|does not exist|could not find|couldn't find|authentication|permission denied|could not read username|denied|not a git repository|does not appear|is larger than|no public address/i

/** How an error of the platform ends a check at this stage. */
export function endOf(error: unknown, stage: Stage): CheckEnd {
  if (error instanceof CheckEnd) return error
  if (!(error instanceof ResolveError)) return new CheckEnd(stage, 'infrastructure', String(error))
  const isOfCaller = OF_REQUEST.includes(error.code) || (error.code === 'git_failed' && OF_ADDRESS.test(error.message))
  return new CheckEnd(stage, isOfCaller ? 'config' : 'infrastructure', error.message)
}
