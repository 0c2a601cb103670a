/** Opens and changes pull requests, for the REST API and for pushes to `refs/for/`. */
import { PULL_BODY_MAX_BYTES, PULL_TITLE_MAX_CHARS, PULLS_OPEN_MAX } from '../../core/limits.ts'
import { branchTip, countCommits } from '../repository/commits.ts'
import { git } from '../repository/git.ts'
import { isBranchName } from '../repository/names.ts'
import { Refusal } from '../repository/refusal.ts'
import type { Repository } from '../repository/repositories.ts'
import type { Pull } from './pull-lines.ts'
import type { GitService } from './service.ts'

export interface PullRequestWish {
  head: string
  base: string
  title: string
  body: string
  labels?: number[]
}

/** Throws a {@link Refusal} with the status that Gitea answers: 404, 409, 422. */
export async function openPull(service: GitService, repository: Repository, wish: PullRequestWish): Promise<Pull> {
  const { head, base, title, body, labels = [] } = wish
  checkTexts(title, body)
  const ends = await checkEnds(repository, head, base)
  const { book } = service.store
  const line = await service.store.change(() => {
    const known = book.findOpen(repository.name, head, base)
    if (known !== undefined) throw alreadyOpen(known, head, base)
    const open = book.of(repository.name).filter(({ state }) => state === 'open').length
    if (open >= PULLS_OPEN_MAX) throw new Refusal(422, `${PULLS_OPEN_MAX} pull requests are open already`)
    const number = book.nextNumber(repository.name)
    return { kind: 'opened', repo: repository.name, number, title, body, head, base, labels, ...ends }
  })
  const pull = book.find(repository.name, line?.number ?? 0)
  if (pull === undefined) throw new Refusal(500, 'the pull request was not kept')
  await git(repository.directory, ['update-ref', `refs/pull/${pull.number}/head`, ends.head_commit])
  return pull
}

/** Gitea's words: clients find the number in them. */
function alreadyOpen({ number }: Pull, head: string, base: string): Refusal {
  const ids = `id: ${number}, issue_id: ${number}, head_repo_id: 0, base_repo_id: 0, head_branch: ${head}, base_branch: ${base}`
  return new Refusal(409, `pull request already exists for these targets [${ids}]`)
}

/** The tips of both branches. */
export async function checkEnds(
  { directory }: Repository,
  head: string,
  base: string,
): Promise<{ head_commit: string; base_commit: string }> {
  for (const name of [head, base]) {
    if (!isBranchName(name)) throw new Refusal(422, `${JSON.stringify(name.slice(0, 100))} is not the name of a branch`)
  }
  const base_commit = await branchTip(directory, base)
  if (base_commit === undefined) throw new Refusal(404, `there is no branch ${base} to merge into`)
  const head_commit = await branchTip(directory, head)
  if (head_commit === undefined) throw new Refusal(404, `there is no branch ${head}`)
  if (head === base) throw new Refusal(422, 'head and base are the same branch')
  if ((await countCommits(directory, [`${base_commit}..${head_commit}`])) === 0)
    throw new Refusal(422, `there are no commits between ${base} and ${head}`)
  return { head_commit, base_commit }
}

export function checkTexts(title: string | undefined, body: string | undefined): void {
  if (title !== undefined && (title.trim() === '' || title.length > PULL_TITLE_MAX_CHARS || /[\r\n]/.test(title)))
    throw new Refusal(422, `a title is one line of 1 to ${PULL_TITLE_MAX_CHARS} characters`)
  if (body !== undefined && Buffer.byteLength(body) > PULL_BODY_MAX_BYTES)
    throw new Refusal(422, `the body has more than ${PULL_BODY_MAX_BYTES} bytes`)
}

export function isDraft(title: string): boolean {
  return /^\s*(?:WIP:|\[WIP\])/i.test(title)
}
