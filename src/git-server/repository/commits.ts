/** Reads refs, commits and the numbers of a comparison from a repository. */
import { git, gitText } from './git.ts'
import { isBranchName, isObjectId } from './names.ts'
import { Refusal } from './refusal.ts'

export interface Person {
  name: string
  email: string
  date: string
}

export interface CommitFacts {
  sha: string
  tree: string
  parents: string[]
  author: Person
  committer: Person
  message: string
}

export interface FileChange {
  path: string
  previousPath: string | undefined
  status: 'added' | 'deleted' | 'changed' | 'renamed' | 'copied'
  additions: number
  deletions: number
}

/** The commit at a ref's full name; undefined where there is none. */
export async function commitAt(directory: string, ref: string): Promise<string | undefined> {
  const found = await gitText(directory, ['rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`], {
    answers: [1, 128],
  })
  return found === '' ? undefined : found
}

export async function branchTip(directory: string, branch: string): Promise<string | undefined> {
  return isBranchName(branch) ? await commitAt(directory, `refs/heads/${branch}`) : undefined
}

/** A branch, a tag or a whole commit id, in this order. */
export async function resolveCommit(directory: string, name: string): Promise<string | undefined> {
  if (isBranchName(name)) {
    for (const kind of ['heads', 'tags']) {
      const found = await commitAt(directory, `refs/${kind}/${name}`)
      if (found !== undefined) return found
    }
  }
  return isObjectId(name) ? await commitAt(directory, name) : undefined
}

export async function listBranches(directory: string): Promise<{ name: string; sha: string }[]> {
  const lines = await gitText(directory, ['for-each-ref', '--format=%(objectname) %(refname:lstrip=2)', 'refs/heads'])
  return lines.split('\n').flatMap((line) => {
    const at = line.indexOf(' ')
    return at === -1 ? [] : [{ sha: line.slice(0, at), name: line.slice(at + 1) }]
  })
}

export async function hasBranches(directory: string): Promise<boolean> {
  return (await gitText(directory, ['for-each-ref', '--count=1', '--format=%(refname)', 'refs/heads'])) !== ''
}

const FORMAT = ['%H', '%T', '%P', '%an', '%ae', '%aI', '%cn', '%ce', '%cI', '%B'].join('%x00')
const FIELDS = 10

/** The commits that `git log` lists for these arguments, in its order. */
export async function readCommits(directory: string, args: readonly string[]): Promise<CommitFacts[]> {
  const text = await gitText(directory, ['log', '-z', `--format=tformat:${FORMAT}`, ...args])
  const fields = text.split('\0')
  return Array.from({ length: Math.floor(fields.length / FIELDS) }, (_, at) => {
    const [sha = '', tree = '', parents = '', ...people] = fields.slice(at * FIELDS, (at + 1) * FIELDS)
    const [an = '', ae = '', ad = '', cn = '', ce = '', cd = '', message = ''] = people
    return {
      sha,
      tree,
      parents: parents.split(' ').filter(Boolean),
      author: { name: an, email: ae, date: ad },
      committer: { name: cn, email: ce, date: cd },
      message,
    }
  })
}

/** These very commits, in this order. */
export async function readTheCommits(directory: string, shas: readonly string[]): Promise<CommitFacts[]> {
  return shas.length === 0 ? [] : await readCommits(directory, ['--no-walk=unsorted', ...shas])
}

export async function readCommit(directory: string, sha: string): Promise<CommitFacts> {
  const [found] = await readTheCommits(directory, [sha])
  if (found === undefined) throw new Refusal(404, `there is no commit ${sha}`)
  return found
}

export async function countCommits(directory: string, range: readonly string[]): Promise<number> {
  return Number(await gitText(directory, ['rev-list', '--count', ...range]))
}

export async function mergeBaseOf(directory: string, one: string, other: string): Promise<string | undefined> {
  const found = await gitText(directory, ['merge-base', one, other], { answers: [1] })
  return found === '' ? undefined : found
}

export async function isAncestor(directory: string, one: string, other: string): Promise<boolean> {
  return (await git(directory, ['merge-base', '--is-ancestor', one, other], { answers: [1] })).code === 0
}

const DIFF = ['-r', '-M', '-z', '--no-ext-diff', '--no-textconv']
const STATUS = { A: 'added', D: 'deleted', R: 'renamed', C: 'copied' } as const

/** What differs between two trees or commits; `from` undefined compares with an empty tree. */
export async function readChanges(directory: string, from: string | undefined, to: string): Promise<FileChange[]> {
  const ends = from === undefined ? ['--root', '--no-commit-id', to] : [from, to]
  const counts = parseNumbers(await gitText(directory, ['diff-tree', ...DIFF, '--numstat', ...ends]))
  const fields = (await gitText(directory, ['diff-tree', ...DIFF, '--name-status', ...ends])).split('\0')
  const changes: FileChange[] = []
  for (let at = 0; at + 1 < fields.length; ) {
    const letter = (fields[at] ?? '')[0] ?? ''
    const isPair = letter === 'R' || letter === 'C'
    const path = fields[at + (isPair ? 2 : 1)] ?? ''
    const status = letter in STATUS ? STATUS[letter as keyof typeof STATUS] : 'changed'
    const [additions, deletions] = counts.get(path) ?? [0, 0]
    changes.push({ path, previousPath: isPair ? fields[at + 1] : undefined, status, additions, deletions })
    at += isPair ? 3 : 2
  }
  return changes
}

/** Lines of `--numstat -z`: `a TAB d TAB path NUL`, or `a TAB d TAB NUL old NUL new NUL` for a renamed file. */
function parseNumbers(text: string): Map<string, [number, number]> {
  const counts = new Map<string, [number, number]>()
  const fields = text.split('\0')
  for (let at = 0; at < fields.length; at += 1) {
    const [, added = '', removed = '', path = ''] = /^(\d+|-)\t(\d+|-)\t([\s\S]*)$/.exec(fields[at] ?? '') ?? []
    if (added === '') continue
    const numbers: [number, number] = [Number(added) || 0, Number(removed) || 0]
    if (path !== '') counts.set(path, numbers)
    else {
      counts.set(fields[at + 2] ?? '', numbers)
      at += 2
    }
  }
  return counts
}
