/** Which repositories of an ended instance have work that is not upstream: what prune asks before it deletes. */
import { existsSync } from 'node:fs'
import { BareGit } from '../git/bare-git.ts'
import { HEADS, hostRepoPath, SNAPSHOTS, UPSTREAM } from '../git/host-layout.ts'
import { UNPROMOTED_LIMIT_MS } from '../limits.ts'
import { promotionsFile, readPromotions } from './promotions-file.ts'

/**
 * `directory`: the host's repositories of the instance. Work is a pushed branch whose tip is neither where the clone began, nor
 * upstream, nor promoted; where nothing was promoted, also a last snapshot that differs from where the clone began. A repository that can't be read counts as one with work.
 */
export async function unpromotedIn(
  directory: string,
  repos: readonly { name: string; commit: string | null }[],
): Promise<string[]> {
  const found: string[] = []
  for (const { name, commit } of repos) {
    const path = hostRepoPath(directory, name)
    if (existsSync(path) && (await hasWork(path, directory, name, commit).catch(() => true))) found.push(name)
  }
  return found
}

async function hasWork(path: string, directory: string, repo: string, start: string | null): Promise<boolean> {
  const git = new BareGit({ path, deadline: Date.now() + UNPROMOTED_LIMIT_MS })
  const refs = await git.text('for-each-ref', '--format=%(objectname) %(refname)', HEADS, UPSTREAM)
  const lines = refs.split('\n').map((line) => line.split(' '))
  const tipsBelow = (prefix: string) =>
    lines.filter(([, name = '']) => name.startsWith(prefix)).map(([tip = '']) => tip)
  const promoted = readPromotions(promotionsFile(directory))
    .filter((one) => one.repo === repo && one.stage === 'open')
    .flatMap(({ commit, source }) => [commit, source ?? commit])
  const known = new Set([start, ...promoted, ...tipsBelow(UPSTREAM)])
  if (tipsBelow(HEADS).some((tip) => !known.has(tip))) return true
  // After a promotion, what is left in the tree is rarely meant to go anywhere.
  return promoted.length === 0 && (await isChanged(git, start))
}

/** Whether the last snapshot has other files than the start. */
async function isChanged(git: BareGit, start: string | null): Promise<boolean> {
  const last = await git.text('for-each-ref', '--sort=-version:refname', '--count=1', '--format=%(tree)', SNAPSHOTS)
  if (last === '') return false
  return last !== (start === null ? EMPTY[last.length] : await git.text('rev-parse', `${start}^{tree}`))
}

/** The tree without files, by the length of its id. */
const EMPTY: Readonly<Record<number, string>> = {
  40: '4b825dc642cb6eb9a060e54bf8d69288fbee4904',
  64: '6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321',
}
