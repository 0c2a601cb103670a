/** Looks at what a promotion would bring upstream: in a bare repository, without a work tree. Promotion refuses by it, and consumers see it before. */
import { fail } from '../errors.ts'
import type { BareGit } from '../git/bare-git.ts'
import { PROMOTION_DIFF_MAX_CHARS } from '../limits.ts'
import { secretsIn, withoutSecrets } from './find-secrets.ts'
import { pathsTold } from './paths-told.ts'
import { sensitivePaths } from './sensitive-paths.ts'

export interface Examination {
  commit: string
  targetCommit: string
  mergeBase: string
  /** Commits that the target does not have, and that the branch does not have. */
  ahead: number
  behind: number
  /** Paths that can't be merged; the first PROMOTION_PATHS_MAX. */
  conflicts: string[]
  /** From the merge base: a comparison with a newer target would show the work of others as removed. */
  files: number
  additions: number
  deletions: number
  /** What is pushed, as git keeps it. */
  bytes: number
  /** Paths that run or decide with the rights of the forge. */
  sensitive: string[]
  /** Where a known secret would be published: paths, `commit message`, and what a promotion adds to them. */
  secrets: string[]
}

export interface SecretSearch {
  /** Whether bytes hold a known secret in any encoding. */
  holdsSecret?: ((bytes: Buffer) => boolean) | undefined
  /** More than this is not searched, and refused. */
  maxChars?: number
}

/** Throws `nothing_to_promote`, `promotion_branch_refused`, and `promotion_invalid` where there is too much to search. */
export async function examine(
  git: BareGit,
  names: { branch: string; target: string },
  commits: { commit: string; targetCommit: string },
  { holdsSecret, maxChars = PROMOTION_DIFF_MAX_CHARS }: SecretSearch = {},
): Promise<Examination> {
  const { commit, targetCommit } = commits
  const mergeBase = await mergeBaseOf(git, names, commits)
  const counted = await git.text('rev-list', '--left-right', '--count', `${targetCommit}...${commit}`)
  const [behind = 0, ahead = 0] = counted.split('\t').map(Number)
  if (ahead === 0) throw fail('nothing_to_promote', names)
  const paths = await changedPaths(git, mergeBase, commit)
  // A path may hold the secret, and answers are shown to more readers than the branch.
  const told = (some: readonly string[]) =>
    pathsTold(holdsSecret === undefined ? some : some.map((path) => withoutSecrets(path, holdsSecret)))
  const range = `${targetCommit}..${commit}`
  return {
    ...{ commit, targetCommit, mergeBase, ahead, behind },
    ...{ files: paths.length, ...(await linesOf(git, mergeBase, commit)) },
    conflicts: behind === 0 ? [] : told(await conflictsOf(git, targetCommit, commit)),
    bytes: Number(await git.text('rev-list', '--objects', '--disk-usage', range)) || 0,
    sensitive: told(sensitivePaths(paths)),
    secrets: holdsSecret === undefined ? [] : told(await secretsIn(git, range, holdsSecret, maxChars)),
  }
}

async function mergeBaseOf(
  git: BareGit,
  { branch }: { branch: string },
  { commit, targetCommit }: { commit: string; targetCommit: string },
): Promise<string> {
  const { stdout } = await git.run(['merge-base', targetCommit, commit], { codes: [1] })
  const base = stdout.trim()
  if (base === '')
    throw fail('promotion_branch_refused', { branch, reason: 'it has no commit in common with the target' })
  return base
}

async function changedPaths(git: BareGit, from: string, to: string): Promise<string[]> {
  const args = ['diff-tree', '-r', '-z', '--no-renames', '--name-only', '--no-ext-diff', '--no-textconv', from, to]
  const { stdout, isCut } = await git.run(args, { maxOutputChars: PROMOTION_DIFF_MAX_CHARS })
  // A path that is not seen could be one that needs a person.
  if (isCut) throw fail('promotion_invalid', { problem: 'it changes too many files' })
  return stdout.split('\0').filter((path) => path !== '')
}

async function linesOf(git: BareGit, from: string, to: string): Promise<{ additions: number; deletions: number }> {
  const text = await git.text(
    'diff-tree',
    '-r',
    '--shortstat',
    '--no-renames',
    '--no-ext-diff',
    '--no-textconv',
    from,
    to,
  )
  const count = (word: string) => Number(new RegExp(`(\\d+) ${word}`).exec(text)?.[1] ?? 0)
  return { additions: count('insertion'), deletions: count('deletion') }
}

async function conflictsOf(git: BareGit, target: string, commit: string): Promise<string[]> {
  const args = ['merge-tree', '--write-tree', '--name-only', '--no-messages', '-z', target, commit]
  const { code, stdout } = await git.run(args, { codes: [1] })
  // First the tree, then a path each.
  return code === 0 ? [] : stdout.split('\0').slice(1)
}
