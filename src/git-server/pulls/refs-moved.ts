/** What follows from moved refs: a push, a merge, a branch made or deleted by the API. */
import { isAncestor } from '../repository/commits.ts'
import { git } from '../repository/git.ts'
import { isNothing } from '../repository/names.ts'
import type { Repository } from '../repository/repositories.ts'
import type { GitService } from './service.ts'

export interface RefMove {
  ref: string
  from: string
  to: string
}

const BRANCH = 'refs/heads/'

/** Keeps the refs of open pull requests, closes those whose branch is gone, and tells the followers. */
export async function refsMoved(service: GitService, repository: Repository, moves: readonly RefMove[]): Promise<void> {
  for (const { ref, from, to } of moves) {
    if (ref.startsWith(BRANCH)) await branchMoved(service, repository, ref.slice(BRANCH.length), to)
    const isForced = !isNothing(from) && !isNothing(to) && !(await isForward(repository, from, to))
    service.feed.tell({
      kind: 'push',
      repo: repository.name,
      ref,
      from: isNothing(from) ? null : from,
      to: isNothing(to) ? null : to,
      forced: isForced,
    })
  }
}

/** A tag may also name a file or a tree, which have no ancestors. */
async function isForward({ directory }: Repository, from: string, to: string): Promise<boolean> {
  return await isAncestor(directory, from, to).catch(() => false)
}

async function branchMoved(service: GitService, repository: Repository, branch: string, to: string): Promise<void> {
  const { name: repo, directory } = repository
  const open = service.store.book.of(repo).filter(({ state, head }) => state === 'open' && head === branch)
  for (const { number } of open) {
    if (!isNothing(to)) await git(directory, ['update-ref', `refs/pull/${number}/head`, to])
    else await service.store.change(() => ({ kind: 'updated', repo, number, state: 'closed' }))
  }
}
