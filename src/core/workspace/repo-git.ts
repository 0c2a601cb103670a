/** Runs git for one repository of a workspace, and says why it failed in the errors of the catalogue. */
import { fail, type ResolveError } from '../errors.ts'
import type { GitAccess } from '../git/git-access.ts'
import { type GitEnd, type GitRun, runGit } from '../git/run-git.ts'
import { whyGitFailed } from '../git/why-git-failed.ts'
import type { RepoPlan } from '../protocol/workspace.ts'

export interface RepoWork {
  repo: RepoPlan
  access: GitAccess
  /** The deadline, as Date.now(). */
  deadline: number
  signal: AbortSignal
}

/** Further parts of one command. */
export type GitExtras = Partial<Pick<GitRun, 'onProgress' | 'settings' | 'maxOutputChars' | 'protocols'>> & {
  maxBytes: number
}

/** Prints what git prints. Throws `repo_clone_failed`, `repo_auth_failed`, `repo_ref_missing`, `repo_too_large`, `git_missing`. */
export async function repoGit(
  work: RepoWork,
  cwd: string,
  args: readonly string[],
  extras: GitExtras,
): Promise<string> {
  const end = await tryRepoGit(work, cwd, args, extras)
  if (end.kind === 'done') return end.stdout
  throw toRepoError(work, end, extras.maxBytes)
}

/** As {@link repoGit}, for a command that may fail. */
export async function tryRepoGit(
  { access, deadline, signal }: RepoWork,
  cwd: string,
  args: readonly string[],
  extras: GitExtras,
): Promise<GitEnd> {
  return await runGit({ args, cwd, deadline, signal, ...access.options, ...extras })
}

const NO_RIGHTS =
  /authentication failed|could not read (?:username|password)|returned error: 40[134]|repository '.*' not found|permission denied|access denied|http basic: access denied/i
const NO_REF = /couldn't find remote ref (.*)$|not our ref ([0-9a-f]+)/im

export function toRepoError(work: RepoWork, end: Exclude<GitEnd, { kind: 'done' }>, limit: number): ResolveError {
  const { repo, access } = work
  const { name, url } = repo
  const failed = (reason: string) => fail('repo_clone_failed', { repo: name, url, reason })
  if (end.kind === 'missing') return fail('git_missing', {})
  if (end.kind === 'too-large') return fail('repo_too_large', { repo: name, url, limit })
  if (end.kind === 'timeout') return failed('it took too long.')
  if (end.kind !== 'failed') return failed('it was aborted.')
  const denial = access.denial()
  if (denial !== undefined) return failed(denial)
  if (NO_RIGHTS.test(end.stderr)) {
    return fail('repo_auth_failed', { repo: name, url, has_token: access.options.credentials !== undefined })
  }
  if (NO_REF.test(end.stderr)) {
    return fail('repo_ref_missing', { repo: name, url, ref: repo.branch ?? 'HEAD', nearest: [] })
  }
  return failed(whyGitFailed(end.stderr))
}

/** Whether another try may succeed: the connection broke, or the server has a problem of its own. */
export function isPassing(end: GitEnd): boolean {
  return (
    end.kind === 'failed' &&
    /early EOF|RPC failed|unexpected disconnect|hung up|connection (?:was )?reset|empty reply|recv failure|returned error: 5\d\d|could not resolve host|timed out|index-pack failed/i.test(
      end.stderr,
    ) &&
    !/out of memory|fsck|did not match expected/i.test(end.stderr)
  )
}
