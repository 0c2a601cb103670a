/** The title of a pull request where the consumer gives none. */

import { BareGit } from '../git/bare-git.ts'
import { PROMOTION_GIT_LIMIT_MS } from '../limits.ts'
import { cleanLine } from '../view/clean.ts'
import { branchFault } from '../workspace/ref-names.ts'

const SUBJECT_MAX_CHARS = 16_384

/** The subject of the last commit of the branch; the branch itself where there is none. `path`: the bare repository. */
export async function titleOfBranch(path: string, branch: string): Promise<string> {
  if (branchFault(branch) !== null) return branch
  const git = new BareGit({ path, deadline: Date.now() + PROMOTION_GIT_LIMIT_MS })
  const args = ['log', '-1', '--format=%s', '--end-of-options', `refs/heads/${branch}`, '--']
  // A longer subject is cut: only its beginning becomes a title.
  const { stdout } = await git.run(args, { codes: [128], maxOutputChars: SUBJECT_MAX_CHARS })
  return cleanLine(stdout.trim()) || branch
}
