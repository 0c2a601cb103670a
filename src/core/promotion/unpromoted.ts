/** Which repositories of an ended instance have work that is not upstream: what prune asks before it deletes. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { BareGit } from '../git/bare-git.ts'
import { UNPROMOTED_LIMIT_MS } from '../limits.ts'
import { readPromotions } from './promotions-file.ts'

/**
 * `directory`: the host's repositories of the instance. Work is a pushed branch whose tip is neither where the clone began, nor
 * upstream, nor promoted. A repository that can't be read counts as one with work.
 */
export async function unpromotedIn(
  directory: string,
  repos: readonly { name: string; commit: string | null }[],
): Promise<string[]> {
  const found: string[] = []
  for (const { name, commit } of repos) {
    const path = join(directory, `${name}.git`)
    if (existsSync(path) && (await hasWork(path, directory, name, commit).catch(() => true))) found.push(name)
  }
  return found
}

async function hasWork(path: string, directory: string, repo: string, start: string | null): Promise<boolean> {
  const git = new BareGit({ path, deadline: Date.now() + UNPROMOTED_LIMIT_MS })
  const refs = await git.text('for-each-ref', '--format=%(objectname) %(refname)', 'refs/heads', 'refs/upstream')
  const lines = refs.split('\n').map((line) => line.split(' '))
  const tipsBelow = (prefix: string) =>
    lines.filter(([, name = '']) => name.startsWith(prefix)).map(([tip = '']) => tip)
  const promoted = readPromotions(join(directory, 'promotions.json'))
    .filter((one) => one.repo === repo && one.stage === 'open')
    .flatMap(({ commit, source }) => [commit, source ?? commit])
  const known = new Set([start, ...promoted, ...tipsBelow('refs/upstream/')])
  return tipsBelow('refs/heads/').some((tip) => !known.has(tip))
}
