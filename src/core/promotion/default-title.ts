/** The title of a pull request where the consumer gives none. */
import { PROMOTION_GIT_LIMIT_MS } from '../limits.ts'
import { cleanLine } from '../view/clean.ts'
import { branchFault } from '../workspace/ref-names.ts'
import { BareGit } from './bare-git.ts'

/** The subject of the last commit of the branch; the branch itself where there is none. `path`: the bare repository. */
export async function titleOfBranch(path: string, branch: string): Promise<string> {
  if (branchFault(branch) !== null) return branch
  const git = new BareGit({ path, deadline: Date.now() + PROMOTION_GIT_LIMIT_MS })
  const args = ['log', '-1', '--format=%s', '--end-of-options', `refs/heads/${branch}`, '--']
  const { stdout } = await git.run(args, { codes: [128] })
  return cleanLine(stdout.trim()) || branch
}
