/**
 * Promotes a repository of an instance and tells it in the journal: for a consumer, for a worker that asks through its git server, and for
 * what an earlier host began. The steps are in {@link file://./../../promotion/promote.ts}.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fail, ResolveError } from '../../errors.ts'
import { hostRepoPath } from '../../git/host-layout.ts'
import { gitServerPlaces } from '../../git-server/server-places.ts'
import { PROMOTION_TITLE_MAX_CHARS } from '../../limits.ts'
import { titleOfBranch } from '../../promotion/default-title.ts'
import { ownPullWords } from '../../promotion/own-pull.ts'
import {
  finishPromotions,
  type PromotionPlace,
  type PromotionTools,
  previewPromotion,
  promote,
} from '../../promotion/promote.ts'
import type { PromotionRequest } from '../../promotion/promotion-rules.ts'
import { promotionsFile } from '../../promotion/promotions-file.ts'
import { answerOf, refusalOf, type WorkerAnswer, workerRequest } from '../../promotion/worker-promotion.ts'
import type { PromotionAsk, PromotionOutcome } from '../../protocol/api/promotion.ts'
import type { Actor } from '../../protocol/instance.ts'
import { instancePaths } from '../../store/home.ts'
import type { Story } from '../../view/story.ts'
import type { News } from '../ledger/ledger.ts'

export type { WorkerAnswer } from '../../promotion/worker-promotion.ts'

export interface PromotionParts {
  home: string
  story: Story
  /** Whether bytes hold a known secret of the instance. */
  holdsSecret: (bytes: Buffer) => boolean
  /** Writes an event into the journal of the instance. */
  tell: (news: News) => Promise<void>
  /** The person who asks sits at a terminal of this process: `git credential` may give the token. */
  atTerminal?: boolean
  signal?: AbortSignal
}

/** For a consumer. Throws `repo_unknown`, and as `promote` does. */
export async function promoteFor(
  parts: PromotionParts,
  repo: string,
  ask: PromotionAsk,
  { actor, via }: Actor,
): Promise<PromotionOutcome> {
  const place = placeOf(parts, repo)
  const branch = ask.branch || place.workingBranch
  const target = ask.target_branch || null
  const isDry = ask.dry_run === true
  const own = ownPullWords(pullsFile(parts), { repo, branch, target })
  const title = ask.pr_title?.trim() || own?.title || (await titleOfBranch(place.path, branch))
  const request: PromotionRequest = {
    by: 'consumer',
    branch,
    target,
    title: title.slice(0, PROMOTION_TITLE_MAX_CHARS),
    body: ask.pr_body ?? own?.body ?? '',
    draft: ask.draft ?? false,
    update: ask.update ?? true,
    // A dry run pushes nothing, so there is nothing to allow: it tells the commit that can be allowed.
    allowWorkflows: !isDry && (ask.allow?.includes('workflows') ?? false),
    seen: ask.commit ?? null,
    rebase: ask.rebase ?? false,
  }
  // Answers are shown to more readers than the pull request.
  const shown = (text: string) => (parts.holdsSecret(Buffer.from(text)) ? '[redacted]' : text)
  const words = { pr_title: shown(request.title), pr_body: shown(request.body) }
  if (isDry) {
    const {
      branch: from,
      target: into,
      targetCommit: _,
      mergeBase: __,
      ...found
    } = await previewPromotion(place, request, toolsOf(parts))
    const unmade = { success: false, pr_url: null, number: null, created: false }
    return { ...unmade, repo, branch: from, target_branch: into, ...words, ...found }
  }
  const { found, ...made } = await told(parts, place, request, { actor, via })
  const { targetCommit: _, mergeBase: __, ...counted } = found
  return { success: true, repo, ...words, ...counted, ...made }
}

/** For a worker, with the body of its request as it came. Never throws: a refusal is an answer. */
export async function promoteForWorker(parts: PromotionParts, repo: string, body: unknown): Promise<WorkerAnswer> {
  try {
    return answerOf(await told(parts, placeOf(parts, repo), workerRequest(body), {}))
  } catch (error) {
    return refusalOf(error)
  }
}

/** Carries on what a host that is gone began. */
export async function finishBegun(parts: PromotionParts): Promise<void> {
  for (const { name } of parts.story.creation.workspace?.repos ?? []) {
    const place = placeOf(parts, name)
    for (const { kept, error } of await finishPromotions(place, toolsOf(parts))) {
      const { repo, branch, target, commit, by, url, number, created } = kept
      const said = { repo, branch, target_branch: target, by }
      if (error !== undefined) await parts.tell(failed(said, error))
      else if (url !== null && number !== null) {
        const data = { ...said, commit, pr_url: url, number, created }
        await parts.tell({ type: 'platform.promotion.completed', data })
      }
    }
  }
}

async function told(
  parts: PromotionParts,
  place: PromotionPlace,
  request: PromotionRequest,
  asker: { actor?: string; via?: string },
) {
  const { repo, workingBranch } = place
  const { by, branch, target } = request
  const said = { repo, branch: branch ?? workingBranch, target_branch: target, by, ...asker }
  let isTold = false
  const onBegin = async () => {
    isTold = true
    await parts.tell({ type: 'platform.promotion.requested', data: said })
  }
  try {
    const promoted = await promote(place, request, { ...toolsOf(parts), onBegin })
    const { branch: from, target_branch, commit, pr_url, number, created } = promoted
    const data = { ...said, branch: from, target_branch, commit, pr_url, number, created }
    await parts.tell({ type: 'platform.promotion.completed', data })
    return promoted
  } catch (error) {
    if (isTold && parts.signal?.aborted !== true) await parts.tell(failed(said, error))
    throw error
  }
}

function failed(
  said: { repo: string; branch: string; target_branch: string | null; by: 'worker' | 'consumer' },
  error: unknown,
): News {
  const { code, outside } = error instanceof ResolveError ? error : { code: 'bug', outside: 'Internal error' }
  return { type: 'platform.promotion.failed', data: { ...said, code, error: outside } }
}

/** Throws `repo_unknown`, and `promotion_invalid` where nothing was ever pushed. */
function placeOf({ home, story: { creation } }: PromotionParts, repo: string): PromotionPlace {
  const repos = creation.workspace?.repos ?? []
  const plan = repos.find(({ name }) => name === repo)
  if (plan === undefined) throw fail('repo_unknown', { repo, names: repos.map(({ name }) => name) })
  const { git } = instancePaths(home, creation.instance_id)
  const path = hostRepoPath(git, repo)
  if (!existsSync(path))
    throw fail('promotion_invalid', { problem: 'the instance ran without a git server, so nothing was pushed' })
  return {
    path,
    file: promotionsFile(git),
    url: plan.url,
    instance: creation.instance_id,
    repo,
    workingBranch: plan.working_branch,
    deliveryMode: creation.input['delivery_mode'],
    branchName: creation.input['branch_name'],
  }
}

/** Where the git server of the instance keeps what it was told of pull requests; it stays after the end. */
function pullsFile({ home, story: { creation } }: PromotionParts): string {
  return join(gitServerPlaces(instancePaths(home, creation.instance_id).git).state, 'pulls.jsonl')
}

function toolsOf({ holdsSecret, atTerminal, signal }: PromotionParts): PromotionTools {
  return {
    holdsSecret,
    ...(atTerminal === undefined ? {} : { atTerminal }),
    ...(signal === undefined ? {} : { signal }),
  }
}
