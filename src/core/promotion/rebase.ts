/**
 * Makes the commits of a branch again on top of a target that has moved on: in the bare repository of the host, without a work tree.
 * {@link file://./promote.ts} calls it where a consumer asks for it.
 */
import { fail } from '../errors.ts'
import { type BareGit, COMMIT } from '../git/bare-git.ts'
import { PROMOTION_REBASE_MAX_COMMITS } from '../limits.ts'
import { fewPaths, pathsTold } from './paths-told.ts'

/**
 * The new tip; the commit itself where nothing has to be done. Author, message and times stay, so the same commits give the same tip. Throws
 * `promotion_conflict` with the files, `promotion_invalid` where there are too many commits.
 */
export async function rebased(
  git: BareGit,
  names: { branch: string; target: string },
  { commit, targetCommit }: { commit: string; targetCommit: string },
): Promise<string> {
  if (await isAncestor(git, targetCommit, commit)) return commit
  const commits = await ownCommits(git, targetCommit, commit)
  const whole = await merged(git, targetCommit, commit)
  if (whole.tree === undefined) throw fail('promotion_conflict', { ...names, paths: fewPaths(whole.paths) })
  let tip = targetCommit
  let tipTree = await git.text('rev-parse', `${targetCommit}^{tree}`)
  for (const { id, parent } of commits) {
    // A commit with the tree of the tip and the commit's own parent: its merge with the commit is what the commit changes.
    const stand = await writeCommit(
      git,
      [`tree ${tipTree}`, `parent ${parent}`, STAND_IN, STAND_IN_COMMITTER],
      'stand-in',
    )
    const { tree, paths } = await merged(git, stand, id)
    if (tree === undefined) throw fail('promotion_conflict', { ...names, paths: fewPaths(paths) })
    // The target has the change already.
    if (tree === tipTree) continue
    tip = await again(git, id, tree, tip)
    tipTree = tree
  }
  // Merges are left out: what one of them resolved by hand must not be lost.
  if (tipTree !== whole.tree) {
    throw fail('promotion_conflict', { ...names, paths: fewPaths(await differing(git, tipTree, whole.tree)) })
  }
  return tip
}

/** Without merges, the oldest first. */
async function ownCommits(git: BareGit, target: string, commit: string): Promise<{ id: string; parent: string }[]> {
  const range = ['--reverse', '--topo-order', '--no-merges', '--parents', `${target}..${commit}`]
  const lines = (await git.text('rev-list', ...range)).split('\n').filter((line) => line !== '')
  if (lines.length > PROMOTION_REBASE_MAX_COMMITS) {
    throw fail('promotion_invalid', { problem: `more than ${PROMOTION_REBASE_MAX_COMMITS} commits are not rebased` })
  }
  // A commit without a parent has no change that could be made again.
  return lines.flatMap((line) => {
    const [id = '', parent] = line.split(' ')
    return parent === undefined ? [] : [{ id, parent }]
  })
}

/** `tree` is undefined where they conflict in `paths`. */
async function merged(git: BareGit, one: string, other: string): Promise<{ tree?: string; paths: string[] }> {
  const args = ['merge-tree', '--write-tree', '--name-only', '--no-messages', '-z', one, other]
  const { code, stdout } = await git.run(args, { codes: [1] })
  const [tree = '', ...paths] = stdout.split('\0')
  return code === 0 ? { tree, paths: [] } : { paths: pathsTold(paths) }
}

async function differing(git: BareGit, one: string, other: string): Promise<string[]> {
  const args = ['diff-tree', '-r', '-z', '--no-renames', '--name-only', '--no-ext-diff', '--no-textconv', one, other]
  return pathsTold((await git.run(args)).stdout.split('\0'))
}

/** The commit with another tree and parent. Its author line stays byte for byte; a signature would no longer fit and is left out. */
async function again(git: BareGit, id: string, tree: string, parent: string): Promise<string> {
  const { stdout } = await git.run(['cat-file', 'commit', id], {
    encoding: 'latin1',
    maxOutputChars: MESSAGE_MAX_CHARS,
  })
  const end = stdout.indexOf('\n\n')
  const head = end === -1 ? stdout.trimEnd() : stdout.slice(0, end)
  const lines = head.split('\n')
  const kept = ['author ', 'committer ', 'encoding '].flatMap(
    (name) => lines.find((line) => line.startsWith(name)) ?? [],
  )
  return await writeCommit(git, [`tree ${tree}`, `parent ${parent}`, ...kept], end === -1 ? '' : stdout.slice(end + 2))
}

const MESSAGE_MAX_CHARS = 4 * 1024 * 1024
const STAND_IN = 'author resolve <resolve@localhost> 0 +0000'
const STAND_IN_COMMITTER = 'committer resolve <resolve@localhost> 0 +0000'

async function writeCommit(git: BareGit, head: readonly string[], message: string): Promise<string> {
  const input = Buffer.from(`${head.join('\n')}\n\n${message}`, 'latin1')
  const id = (await git.run(['hash-object', '-t', 'commit', '-w', '--stdin'], { input })).stdout.trim()
  if (COMMIT.test(id)) return id
  throw fail('git_failed', { url: 'the repository of the instance', reason: 'git gave no id for a commit.' })
}

async function isAncestor(git: BareGit, one: string, other: string): Promise<boolean> {
  return (await git.run(['merge-base', '--is-ancestor', one, other], { codes: [1] })).code === 0
}
