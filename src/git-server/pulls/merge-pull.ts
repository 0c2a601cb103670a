/** Merges a pull request: the new tip is made, announced in `pulls.jsonl`, and then the base moves to it in one step. */
import { branchTip, commitAt, isAncestor } from '../repository/commits.ts'
import { git } from '../repository/git.ts'
import { Refusal } from '../repository/refusal.ts'
import type { Repository } from '../repository/repositories.ts'
import { type MergeStyle, mergeCommit, replay } from './merge.ts'
import { isDraft } from './open-pull.ts'
import { pullFacts } from './pull-facts.ts'
import type { MergingLine, Pull } from './pull-lines.ts'
import { refsMoved } from './refs-moved.ts'
import type { GitService } from './service.ts'

export interface MergeWish {
  style: MergeStyle
  /** Refused where the head has moved since. */
  headCommit: string | undefined
  title: string | undefined
  message: string | undefined
  deletesBranch: boolean
}

export async function mergePull(
  service: GitService,
  repository: Repository,
  pull: Pull,
  wish: MergeWish,
): Promise<void> {
  if (pull.state !== 'open') throw new Refusal(405, 'the pull request is closed')
  if (isDraft(pull.title)) throw new Refusal(405, 'the pull request is a draft')
  const facts = await pullFacts(repository, pull)
  if (wish.headCommit !== undefined && wish.headCommit !== facts.headCommit)
    throw new Refusal(409, 'head out of date: the branch has other commits now')
  const message = messageOf(pull, wish)
  const commit = await mergeCommit(repository.directory, wish.style, facts, message)
  const ends = { head_commit: facts.headCommit, base_commit: facts.baseCommit }
  const about = { repo: pull.repo, number: pull.number, style: wish.style, commit, ...ends }
  await service.store.change(() => {
    if (pull.state !== 'open') throw new Refusal(405, 'the pull request is closed')
    return { kind: 'merging', ...about }
  })
  await moveBranch(service, repository, pull.base, facts.baseCommit, commit)
  await service.store.change(() => ({ kind: 'merged', ...about }))
  if (wish.deletesBranch) await deleteBranch(service, repository, pull.head).catch(() => {})
}

function messageOf(pull: Pull, { style, title, message }: MergeWish): string {
  const usual =
    style === 'squash'
      ? `${pull.title} (#${pull.number})`
      : `Merge pull request '${pull.title}' (#${pull.number}) from ${pull.head} into ${pull.base}`
  const rest = message ?? (style === 'squash' ? pull.body : `Reviewed-on: pulls/${pull.number}`)
  return `${title || usual}\n\n${rest}`.trim()
}

/** Brings the base's commits into the head's branch. */
export async function updatePull(
  service: GitService,
  repository: Repository,
  pull: Pull,
  style: 'merge' | 'rebase',
): Promise<void> {
  if (pull.state !== 'open') throw new Refusal(422, 'the pull request is closed')
  const { directory } = repository
  const facts = await pullFacts(repository, pull)
  if (await isAncestor(directory, facts.baseCommit, facts.headCommit)) return
  const turned = { ...facts, headCommit: facts.baseCommit, baseCommit: facts.headCommit }
  const commit =
    style === 'rebase'
      ? await replay(directory, facts.headCommit, facts.baseCommit)
      : await mergeCommit(directory, 'merge', turned, `Merge branch '${pull.base}' into ${pull.head}`)
  await moveBranch(service, repository, pull.head, facts.headCommit, commit)
}

/** Throws a {@link Refusal} 409 where the branch is no longer at `from`. */
async function moveBranch(service: GitService, repository: Repository, branch: string, from: string, to: string) {
  const ref = `refs/heads/${branch}`
  const { code } = await git(repository.directory, ['update-ref', ref, to, from], { answers: [1, 128] })
  if (code !== 0) throw new Refusal(409, `${branch} has other commits now: try again`)
  await refsMoved(service, repository, [{ ref, from, to }])
}

export async function deleteBranch(service: GitService, repository: Repository, branch: string): Promise<void> {
  const ref = `refs/heads/${branch}`
  const from = await commitAt(repository.directory, ref)
  if (from === undefined) throw new Refusal(404, `there is no branch ${branch}`)
  await git(repository.directory, ['update-ref', '-d', ref, from])
  await refsMoved(service, repository, [{ ref, from, to: '0'.repeat(from.length) }])
}

/** At the start: a merge that a kill interrupted is done where the base had moved, and forgotten where it had not. */
export async function settleMerges(service: GitService): Promise<void> {
  for (const { base, merging } of service.store.book.pulls) {
    const repository = merging === undefined ? undefined : service.repositories.find(merging.repo)
    if (merging === undefined || repository === undefined || !(await isDone(repository, base, merging))) continue
    await service.store.change(() => ({ ...merging, kind: 'merged' }))
  }
}

/** With fast-forward and rebase the commit may also stand in the head's branch, so only the base tells. */
async function isDone({ directory }: Repository, base: string, { commit }: MergingLine): Promise<boolean> {
  const tip = await branchTip(directory, base)
  return tip !== undefined && (await isAncestor(directory, commit, tip).catch(() => false))
}
