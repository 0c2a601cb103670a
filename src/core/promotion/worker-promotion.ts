/**
 * A worker's request to promote, as the git server passes it on, and the answer to it: the body of `create-pr --promote` and of the SDK. The
 * request is an outside value; hosts call both functions around {@link file://./promote.ts}. Pure.
 */
import { fail, ResolveError } from '../errors.ts'
import { misfit } from '../schema/fits.ts'
import { flag, nullable, object, optional, type Static, text } from '../schema/schema.ts'
import type { Promotion } from './promote.ts'
import type { PromotionRequest } from './promotion-rules.ts'

/** `pr_body`, `branch`, `target_branch` may be null or missing: no text, the working branch, the default branch upstream. */
const promotionBody = object({
  pr_title: text(),
  pr_body: optional(nullable(text())),
  branch: optional(nullable(text())),
  target_branch: optional(nullable(text())),
  draft: optional(flag()),
  update: optional(flag()),
})

/** Throws `promotion_invalid`. A worker never allows workflow files. */
export function workerRequest(body: unknown): PromotionRequest {
  const at = misfit(promotionBody, body)
  if (at !== undefined) throw fail('promotion_invalid', { problem: `its body does not fit at ${at}` })
  const { pr_title, pr_body, branch, target_branch, draft, update } = body as Static<typeof promotionBody>
  return {
    by: 'worker',
    branch: branch || null,
    target: target_branch || null,
    title: pr_title,
    body: pr_body ?? '',
    draft: draft ?? false,
    update: update ?? true,
    allowWorkflows: false,
    seen: null,
    rebase: false,
  }
}

export interface WorkerAnswer {
  status: number
  body: Readonly<Record<string, unknown>>
}

export function answerOf({ pr_url, number, branch, target_branch, commit, created, found }: Promotion): WorkerAnswer {
  const { behind, conflicts } = found
  const done = { success: true, pr_url, number, branch, target_branch, commit, created }
  return { status: 200, body: { ...done, behind, conflicts } }
}

/** As a caller on another machine may see it: no path or program of the host. */
export function refusalOf(error: unknown): WorkerAnswer {
  const known = error instanceof ResolveError ? error : fail('bug', { what: String(error) }, { cause: error })
  const { code, outside, httpStatus } = known
  return { status: httpStatus, body: { success: false, code, message: outside } }
}
