/** Asks the host, through the git server of the instance, for a pull request at the upstream (docs/decisions/0031-promotion.md). */
import { fail, received } from '../../core/errors.ts'
import { isObject } from '../../core/primitives/is-object.ts'
import type { InstanceConfig } from '../../core/protocol/instance.ts'

export interface PromoteOptions {
  title: string
  body?: string
  /** A name of `ctx.workspace`; by default its first repository. */
  repo?: string
  /** By default the working branch. It must have been pushed to the git server. */
  branch?: string
  /** By default the default branch of the upstream. */
  target?: string
  draft?: boolean
}

export interface Promoted {
  /** The address of the pull request. */
  url: string
  number: number
  branch: string
  target: string
  commit: string
  /** False where an open pull request was updated. */
  created: boolean
}

/** Throws `promotion_invalid` without a git server, and the host's reason of a refusal. */
export async function promote(
  { instance_id: id, git_provider: server, workspace = [] }: InstanceConfig,
  { title, body, repo = workspace[0]?.repo, branch, target, draft }: PromoteOptions,
  signal: AbortSignal,
): Promise<Promoted> {
  if (repo === undefined) throw fail('promotion_invalid', { problem: 'the instance has no repository' })
  if (server.type !== 'gitea' || server.token === '' || !URL.canParse(server.base_url))
    throw fail('promotion_invalid', { problem: 'the instance has no git server' })
  const base = server.base_url.replace(/\/+$/, '')
  const path = `/internal/instances/${id}/repos/${encodeURIComponent(repo)}/promote/pr`
  const response = await fetch(`${base}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ pr_title: title, pr_body: body, branch, target_branch: target, draft }),
    signal,
  })
  const answer: unknown = await response.json().catch(() => null)
  const fields = isObject(answer) ? answer : {}
  const { pr_url, number, commit, created } = fields
  if (response.ok && typeof pr_url === 'string') {
    const [from, to] = [String(fields['branch']), String(fields['target_branch'])]
    return { url: pr_url, number: Number(number), branch: from, target: to, commit: String(commit), created: !!created }
  }
  const problem = String(fields['message'] ?? `the git server answered ${response.status}`)
  throw received({ detail: problem, code: fields['code'] }) ?? fail('promotion_invalid', { problem })
}
