/** Looks at what a promotion would bring upstream: in a bare repository, without a work tree. Promotion refuses by it, and consumers see it before. */
import { fail } from '../errors.ts'
import type { BareGit } from '../git/bare-git.ts'
import { PROMOTION_DIFF_MAX_CHARS } from '../limits.ts'
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
  /** Paths to whose lines a commit of the branch adds a known secret; `commit message` for its text. */
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
  const range = `${targetCommit}..${commit}`
  return {
    ...{ commit, targetCommit, mergeBase, ahead, behind },
    ...{ files: paths.length, ...(await linesOf(git, mergeBase, commit)) },
    conflicts: behind === 0 ? [] : await conflictsOf(git, targetCommit, commit),
    bytes: Number(await git.text('rev-list', '--objects', '--disk-usage', range)) || 0,
    sensitive: pathsTold(sensitivePaths(paths)),
    secrets: holdsSecret === undefined ? [] : pathsTold(await secretsIn(git, range, holdsSecret, maxChars)),
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
  return code === 0 ? [] : pathsTold(stdout.split('\0').slice(1))
}

/** Every commit is looked at, because every commit is published: one that a later one takes back too. */
async function secretsIn(
  git: BareGit,
  range: string,
  holdsSecret: (bytes: Buffer) => boolean,
  maxOutputChars: number,
): Promise<string[]> {
  const changes = ['--patch', '--text', '--cc', '--unified=0', '--no-renames', '--no-ext-diff', '--no-textconv']
  const args = ['log', ...changes, '--no-notes', '--no-color', `--format=${MESSAGE}%an%n%ae%n%B`, range]
  const log = await git.run(args, { maxOutputChars })
  if (log.isCut) throw fail('promotion_invalid', { problem: 'its changes are too large to be searched for secrets' })
  return pathsWithSecrets(log.stdout, holdsSecret)
}

const MESSAGE = 'message of '

/** Of the output of `git log --patch`: added lines and messages. Pure. */
export function pathsWithSecrets(log: string, holdsSecret: (bytes: Buffer) => boolean): string[] {
  const added = new Map<string, string[]>()
  let at = 'commit message'
  let isPatch = false
  for (const line of log.split('\n')) {
    if (line.startsWith('diff --')) {
      isPatch = true
      at = line.replace(/^diff --(?:git|cc|combined) /, '').replace(/^"?a\/.* "?b\/(.*?)"?$/, '$1')
    } else if (line.startsWith(MESSAGE)) {
      isPatch = false
      at = 'commit message'
    }
    // A file's name may be the secret; of a merge, a column for each parent has the sign.
    const isAdded = !isPatch || /^(?: *\+|diff --)/.test(line)
    if (!isAdded) continue
    const lines = added.get(at) ?? []
    lines.push(line.replace(/^ *\++/, ''))
    added.set(at, lines)
  }
  return [...added].flatMap(([path, lines]) => (holdsSecret(Buffer.from(lines.join('\n'))) ? [path] : []))
}
