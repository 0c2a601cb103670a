/** Merges, squashes and replays commits in a bare repository, without a worktree. The callers move the refs. */
import { GIT_REPLAY_MAX_COMMITS } from '../../core/limits.ts'
import { isAncestor, type Person, readCommits } from '../repository/commits.ts'
import { gitText } from '../repository/git.ts'
import { Refusal } from '../repository/refusal.ts'
import { mergedTree, type PullFacts, treeOf } from './pull-facts.ts'

export const MERGE_STYLES = ['merge', 'squash', 'rebase', 'fast-forward-only'] as const
export type MergeStyle = (typeof MERGE_STYLES)[number]

export const SERVER_USER = { name: 'admin', email: 'admin@git-server.localhost' }

/** The new tip of the base. Throws a {@link Refusal} 409 where the commits conflict. */
export async function mergeCommit(
  directory: string,
  style: MergeStyle,
  { headCommit, baseCommit, tree, conflicts }: PullFacts,
  message: string,
): Promise<string> {
  if (style === 'fast-forward-only') {
    if (await isAncestor(directory, baseCommit, headCommit)) return headCommit
    throw new Refusal(409, 'the base has commits that the head lacks: it cannot be fast-forwarded')
  }
  if (style === 'rebase') return await replay(directory, headCommit, baseCommit)
  if (tree === undefined) throw inConflict(conflicts)
  if (style === 'merge') return await commitTree(directory, tree, [baseCommit, headCommit], message)
  const [last] = await readCommits(directory, ['-1', headCommit])
  return await commitTree(directory, tree, [baseCommit], message, last?.author)
}

/** Makes the commits of `head` that `onto` lacks again on top of `onto`, each with its author and message; merges are left out. */
export async function replay(directory: string, head: string, onto: string): Promise<string> {
  if (await isAncestor(directory, onto, head)) return head
  const range = ['--reverse', '--topo-order', '--no-merges', `--max-count=${GIT_REPLAY_MAX_COMMITS + 1}`]
  const commits = await readCommits(directory, [...range, `${onto}..${head}`])
  if (commits.length > GIT_REPLAY_MAX_COMMITS)
    throw new Refusal(422, `more than ${GIT_REPLAY_MAX_COMMITS} commits cannot be rebased here`)
  let tip = onto
  let tipTree = await treeOf(directory, onto)
  for (const { sha, parents, author, message } of commits) {
    // A commit with the tree of the tip and the commit's own parent: its merge with the commit is what the commit changes.
    const stand = await commitTree(directory, tipTree, parents.slice(0, 1), 'stand-in')
    const { tree, conflicts } = await mergedTree(directory, stand, sha)
    if (tree === undefined) throw inConflict(conflicts)
    if (tree === tipTree) continue
    tip = await commitTree(directory, tree, [tip], message, author)
    tipTree = tree
  }
  return tip
}

export function inConflict(paths: readonly string[]): Refusal {
  const named = paths.slice(0, 10).join(', ')
  return new Refusal(409, `merge conflict in ${named}${paths.length > 10 ? ` and ${paths.length - 10} more` : ''}`)
}

export async function commitTree(
  directory: string,
  tree: string,
  parents: readonly string[],
  message: string,
  author: Person | { name: string; email: string } = SERVER_USER,
): Promise<string> {
  const environment = {
    GIT_AUTHOR_NAME: author.name || SERVER_USER.name,
    GIT_AUTHOR_EMAIL: author.email || SERVER_USER.email,
    ...('date' in author ? { GIT_AUTHOR_DATE: author.date } : {}),
    GIT_COMMITTER_NAME: SERVER_USER.name,
    GIT_COMMITTER_EMAIL: SERVER_USER.email,
  }
  const args = ['commit-tree', tree, ...parents.flatMap((parent) => ['-p', parent]), '-F', '-']
  return await gitText(directory, args, { input: message, environment })
}
