/** Answers the hooks of a push: the rules and the quota before it, pull requests and the followers after it. */
import { GIT_SERVER_MAX_BYTES } from '../../core/limits.ts'
import { checkTexts, openPull } from '../pulls/open-pull.ts'
import type { Pull } from '../pulls/pull-lines.ts'
import { type RefMove, refsMoved } from '../pulls/refs-moved.ts'
import { type GitService, pullUrl } from '../pulls/service.ts'
import { branchTip, isAncestor, readCommit } from '../repository/commits.ts'
import { git } from '../repository/git.ts'
import { Refusal } from '../repository/refusal.ts'
import { bytesBelow, type Repository } from '../repository/repositories.ts'
import type { HookAnswer, Hooked } from './hook-talk.ts'
import { type Asked, askedBy, whyRefused } from './push-rules.ts'

const FOR = 'refs/for/'

export async function answerHook(
  service: GitService,
  repository: Repository,
  { hook, options, moves }: Hooked,
  isHost: boolean,
): Promise<HookAnswer> {
  if (hook === 'post-receive') return await afterPush(service, repository, moves, options)
  const why =
    whyRefused(moves, options, isHost) ?? (await whyFull(service)) ?? (await whyAskedWrong(repository, moves, options))
  return { say: why === undefined ? [] : [why], isRefused: why !== undefined }
}

/** The objects of this push already lie below the repository, in quarantine. */
async function whyFull({ repositories }: GitService): Promise<string | undefined> {
  const bytes = await bytesBelow(repositories.root)
  if (bytes <= GIT_SERVER_MAX_BYTES) return undefined
  return `507: with this push the repositories of the instance take ${bytes} bytes; the limit is ${GIT_SERVER_MAX_BYTES}.`
}

async function whyAskedWrong(repository: Repository, moves: readonly RefMove[], options: readonly string[]) {
  const move = moves.find(({ ref }) => ref.startsWith(FOR))
  if (move === undefined) return undefined
  try {
    const asked = askedBy(move.ref, options)
    const { base, topic } = await toEnds(repository, asked)
    if ((await branchTip(repository.directory, base)) === undefined) return `There is no branch ${base} to merge into.`
    if (topic === base) return 'The branch and its base are the same: make a branch first.'
    checkTexts(asked.title, asked.body)
    return undefined
  } catch (error) {
    if (error instanceof Refusal) return `Refused: ${error.message}.`
    throw error
  }
}

/** Without the option `topic` it is the part of the ref after the base: `refs/for/main/topic`. */
async function toEnds({ directory }: Repository, { base, topic }: Asked): Promise<{ base: string; topic: string }> {
  if (topic !== undefined && topic !== '') return { base, topic }
  for (let at = base.indexOf('/'); at !== -1; at = base.indexOf('/', at + 1)) {
    const candidate = base.slice(0, at)
    if ((await branchTip(directory, candidate)) !== undefined) return { base: candidate, topic: base.slice(at + 1) }
  }
  throw new Refusal(422, 'the push option topic=<branch> is missing')
}

async function afterPush(
  service: GitService,
  repository: Repository,
  moves: readonly RefMove[],
  options: readonly string[],
): Promise<HookAnswer> {
  const move = moves.find(({ ref }) => ref.startsWith(FOR))
  await refsMoved(
    service,
    repository,
    moves.filter((one) => one !== move),
  )
  if (move === undefined) return { say: [], isRefused: false }
  const asked = askedBy(move.ref, options)
  try {
    return { say: await fulfil(service, repository, move, asked), isRefused: false }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const words = asked.wantsJson ? [`create-pr: ${JSON.stringify({ refused: error.message })}`] : []
    return { say: [`No pull request: ${error.message.replace(/\.$/, '')}.`, ...words], isRefused: false }
  } finally {
    // The request is answered; its ref must not refuse the next one.
    await git(repository.directory, ['update-ref', '-d', move.ref])
  }
}

async function fulfil(service: GitService, repository: Repository, { to }: RefMove, asked: Asked): Promise<string[]> {
  const { base, topic } = await toEnds(repository, asked)
  await bringBranch(service, repository, topic, to, asked.force)
  const known = service.store.book.findOpen(repository.name, topic, base)
  const pull = known ?? (await openPull(service, repository, await toWish(repository, asked, base, topic, to)))
  if (known !== undefined) await renew(service, known, asked)
  const url = pullUrl(service, repository.name, pull.number)
  const line = `Pull request #${pull.number}: ${url}`
  const answer = { number: pull.number, url, branch: topic, base, created: known === undefined }
  if (asked.promotes) return await promote(service, pull, answer, asked.wantsJson)
  return [line, ...(asked.wantsJson ? [`create-pr: ${JSON.stringify(answer)}`] : [])]
}

/** `create-pr` pushes the branch along with its request; other clients push the request alone. */
async function bringBranch(service: GitService, repository: Repository, topic: string, to: string, force: boolean) {
  const { directory } = repository
  const from = await branchTip(directory, topic)
  if (from === to) return
  if (from !== undefined && !force && !(await isAncestor(directory, from, to)))
    throw new Refusal(409, `${topic} has commits that this push lacks`)
  const ref = `refs/heads/${topic}`
  const before = from ?? '0'.repeat(to.length)
  const { code } = await git(directory, ['update-ref', ref, to, before], { answers: [1, 128] })
  if (code !== 0)
    throw new Refusal(409, `${topic} cannot be written: it moved, or another branch has a part of its name`)
  await refsMoved(service, repository, [{ ref, from: before, to }])
}

async function toWish(repository: Repository, asked: Asked, base: string, head: string, to: string) {
  const title = asked.title || ((await readCommit(repository.directory, to)).message.split('\n')[0] ?? '').slice(0, 255)
  return { head, base, title, body: asked.body ?? '' }
}

async function renew(service: GitService, pull: Pull, { title, body }: Asked): Promise<void> {
  const isSame = (title ?? pull.title) === pull.title && (body ?? pull.body) === pull.body
  if (isSame) return
  await service.store.change(() => ({
    kind: 'updated',
    repo: pull.repo,
    number: pull.number,
    ...(title === undefined ? {} : { title }),
    ...(body === undefined ? {} : { body }),
  }))
}

async function promote(
  service: GitService,
  pull: Pull,
  made: Readonly<Record<string, unknown>>,
  wantsJson: boolean,
): Promise<string[]> {
  const request = { pr_title: pull.title, pr_body: pull.body, branch: pull.head, target_branch: pull.base }
  const answer = await service.promotions.ask(pull.repo, request)
  if (answer === undefined) throw new Refusal(504, 'the host has not answered yet; the same command joins the request')
  const { pr_url: url, message, error } = answer.body
  if (answer.status >= 400 || typeof url !== 'string')
    throw new Refusal(answer.status, `not promoted: ${String(message ?? error ?? answer.status)}`)
  const line = `Promoted: ${url}`
  return [line, ...(wantsJson ? [`create-pr: ${JSON.stringify({ ...made, url, promoted: true })}`] : [])]
}
