/** What may be promoted, and by which consumer or worker: the rules that need neither git nor a forge. {@link file://./promote.ts} applies them. Pure. */
import { fail } from '../errors.ts'
import type { GitHosts } from '../git/git-hosts.ts'
import { PROMOTION_BODY_MAX_BYTES, PROMOTION_TITLE_MAX_CHARS } from '../limits.ts'
import { cleanLine, cleanText } from '../view/clean.ts'
import { branchFault, isCommitId } from '../workspace/ref-names.ts'
import { AddressFault, parseRepoAddress } from '../workspace/repo-address.ts'

export interface PromotionRequest {
  /** A worker has fewer rights than a consumer: it runs code that was not looked at. */
  by: 'worker' | 'consumer'
  /** Null for the working branch. */
  branch: string | null
  /** Null for the default branch upstream. */
  target: string | null
  title: string
  body: string
  draft: boolean
  /** Whether title and body of an open pull request are replaced. */
  update: boolean
  /** Whether workflow files and others that run with the rights of the forge may change: a person looked at them. */
  allowWorkflows: boolean
  /** The commit that the person saw; the promotion is refused where the branch has another one. Null: whatever the branch has. */
  seen: string | null
  /** Makes the commits again on top of the target. A consumer alone may ask for it. */
  rebase: boolean
}

/** What the birth of the instance says about a repository. */
export interface PromotionOrigin {
  instance: string
  /** The name in the workspace. */
  repo: string
  workingBranch: string
  /** `delivery_mode` and `branch_name` of the input, as they came. */
  deliveryMode?: unknown
  branchName?: unknown
}

export interface Wanted {
  branch: string
  target: string | null
  title: string
  body: string
}

/** Throws `promotion_not_requested`, `promotion_branch_refused` or `promotion_invalid`. */
export function checkRequest(request: PromotionRequest, origin: PromotionOrigin): Wanted {
  if (request.by === 'worker' && origin.deliveryMode !== 'promote') throw fail('promotion_not_requested', {})
  const branch = request.branch ?? origin.workingBranch
  for (const name of [branch, request.target]) {
    const fault = name === null ? null : nameFault(name)
    if (name !== null && fault !== null) throw refused(name, fault)
  }
  if (request.by === 'worker' && !branchesOfWorker(origin).includes(branch)) {
    throw refused(branch, `the worker may promote ${branchesOfWorker(origin).join(', ')} alone`)
  }
  if (request.seen !== null && !isCommitId(request.seen)) {
    throw fail('promotion_invalid', { problem: 'its commit is no whole id of a commit' })
  }
  // Else a push between the look and the promotion would be allowed by a person who never saw it.
  if (request.by === 'consumer' && request.allowWorkflows && request.seen === null) {
    throw fail('promotion_invalid', {
      problem:
        'it allows workflow files without the commit that was seen (--commit; "resolve instance promote --dry-run" shows it)',
    })
  }
  return { branch, target: request.target, title: titleOf(request.title), body: bodyOf(request.body) }
}

/** After upstream said what its default branch is. Throws `promotion_branch_refused`. */
export function checkBranch(branch: string, target: string, defaultBranch: string | null): void {
  if (branch === target) throw refused(branch, 'it is the target')
  if (branch === defaultBranch) throw refused(branch, 'it is the default branch')
  // Compared without case: some forges keep such names on disks that do not tell them apart.
  if (PROTECTED.includes(branch.toLowerCase())) throw refused(branch, 'branches of this name are protected')
}

const PROTECTED = ['head', 'main', 'master', 'trunk', 'gh-pages', 'pages']

function branchesOfWorker({ instance, repo, workingBranch, branchName }: PromotionOrigin): string[] {
  const named = typeof branchName === 'string' && nameFault(branchName) === null ? [branchName] : []
  return [...new Set([...named, `resolve/${repo}-${instance.slice(0, 8)}`, workingBranch])]
}

function refused(branch: string, reason: string) {
  return fail('promotion_branch_refused', { branch: cleanLine(branch).slice(0, 100), reason })
}

function titleOf(text: string): string {
  const title = cleanLine(text)
  if (title === '') throw fail('promotion_invalid', { problem: 'it has no title' })
  if (title.length <= PROMOTION_TITLE_MAX_CHARS) return title
  throw fail('promotion_invalid', { problem: `its title has more than ${PROMOTION_TITLE_MAX_CHARS} characters` })
}

function bodyOf(text: string): string {
  const body = cleanText(text)
  if (Buffer.byteLength(body) <= PROMOTION_BODY_MAX_BYTES) return body
  throw fail('promotion_invalid', { problem: `its text has more than ${PROMOTION_BODY_MAX_BYTES} bytes` })
}

function nameFault(name: string): string | null {
  return branchFault(name) ?? (isCommitId(name) ? 'it is the id of a commit' : null)
}

/** The operator may have forbidden since what was cloned then. Throws `promotion_invalid`. */
export function checkAddress(url: string, hosts: GitHosts): void {
  if (url.startsWith('file:')) {
    const problem =
      'its upstream is a directory, which has no pull requests; "resolve instance pull" brings the work into a clone'
    throw fail('promotion_invalid', { problem })
  }
  try {
    parseRepoAddress(url, hosts)
  } catch (error) {
    if (!(error instanceof AddressFault)) throw error
    throw fail('promotion_invalid', { problem: `its repository is not allowed: ${error.reason}` })
  }
}
