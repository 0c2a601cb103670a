/** What git says about a pull request now: its ends, whether it can be merged, what it changes. Kept by the two commits it compares. */
import { branchTip, commitAt, countCommits, mergeBaseOf, readChanges } from '../repository/commits.ts'
import { git, gitText } from '../repository/git.ts'
import type { Repository } from '../repository/repositories.ts'
import type { Pull } from './pull-lines.ts'

export interface PullFacts {
  headCommit: string
  baseCommit: string
  mergeBase: string
  isMergeable: boolean
  /** The tree of the merge, where it has no conflicts. */
  tree: string | undefined
  conflicts: string[]
  commits: number
  files: number
  additions: number
  deletions: number
}

const KEPT_MAX = 500
const kept = new Map<string, PullFacts>()

export async function pullFacts(repository: Repository, pull: Pull): Promise<PullFacts> {
  const { headCommit, baseCommit } = await endsOf(repository, pull)
  const key = [repository.directory, headCommit, baseCommit].join(' ')
  const known = kept.get(key)
  if (known !== undefined) return known
  const facts = await compare(repository.directory, headCommit, baseCommit)
  if (kept.size >= KEPT_MAX) kept.delete(kept.keys().next().value ?? '')
  kept.set(key, facts)
  return facts
}

/** A merged pull request keeps the ends it had. */
async function endsOf({ directory }: Repository, pull: Pull): Promise<{ headCommit: string; baseCommit: string }> {
  if (pull.merged !== undefined) {
    return { headCommit: pull.merged.head_commit, baseCommit: pull.merged.base_commit }
  }
  const head = pull.state === 'open' ? await branchTip(directory, pull.head) : undefined
  return {
    headCommit: head ?? (await commitAt(directory, `refs/pull/${pull.number}/head`)) ?? pull.headCommit,
    baseCommit: (await branchTip(directory, pull.base)) ?? pull.baseCommit,
  }
}

async function compare(directory: string, headCommit: string, baseCommit: string): Promise<PullFacts> {
  const mergeBase = await mergeBaseOf(directory, baseCommit, headCommit)
  const changes = await readChanges(directory, mergeBase ?? baseCommit, headCommit)
  const { tree, conflicts } =
    mergeBase === undefined
      ? { tree: undefined, conflicts: ['unrelated histories'] }
      : await mergedTree(directory, baseCommit, headCommit)
  return {
    headCommit,
    baseCommit,
    mergeBase: mergeBase ?? baseCommit,
    isMergeable: tree !== undefined,
    tree,
    conflicts,
    commits: await countCommits(directory, [`${baseCommit}..${headCommit}`]),
    files: changes.length,
    additions: changes.reduce((sum, { additions }) => sum + additions, 0),
    deletions: changes.reduce((sum, { deletions }) => sum + deletions, 0),
  }
}

/** The tree of a merge of two commits, made without a worktree; or the files in conflict. */
export async function mergedTree(
  directory: string,
  ours: string,
  theirs: string,
): Promise<{ tree: string | undefined; conflicts: string[] }> {
  const args = ['merge-tree', '--write-tree', '--name-only', '--no-messages', '-z', ours, theirs]
  const { code, stdout } = await git(directory, args, { answers: [1] })
  const [tree = '', ...names] = stdout.toString('utf8').split('\0')
  return code === 0 ? { tree, conflicts: [] } : { tree: undefined, conflicts: names.filter(Boolean) }
}

export async function treeOf(directory: string, commit: string): Promise<string> {
  return await gitText(directory, ['rev-parse', '--verify', `${commit}^{tree}`])
}
