/**
 * Looks at the upstream of each repository again when an instance is resumed, and tells which of them have moved on since the work began
 * (docs/git.md, The repository of the host). The workspace is not touched, and nothing fails because of it.
 */
import { existsSync } from 'node:fs'
import { withLock } from '../../files/lock.ts'
import { BareGit } from '../../git/bare-git.ts'
import { FETCH_QUIETLY } from '../../git/fetch-arguments.ts'
import { openGitAccess } from '../../git/git-access.ts'
import { gitHosts } from '../../git/git-hosts.ts'
import { HEADS, hostRepoPath, UPSTREAM } from '../../git/host-layout.ts'
import { UPSTREAM_REFRESH_LIMIT_MS } from '../../limits.ts'
import { promotionsFile } from '../../promotion/promotions-file.ts'
import type { ClonedRepo } from '../../protocol/workspace.ts'
import { instancePaths } from '../../store/home.ts'
import type { Story } from '../../view/story.ts'
import type { News } from '../ledger/ledger.ts'

export interface RefreshParts {
  home: string
  story: Story
  /** The token of the git host; empty for none. */
  token: string
  tell: (news: News) => Promise<void>
  signal: AbortSignal
}

export async function refreshUpstream(parts: RefreshParts): Promise<void> {
  const { home, story, tell, signal } = parts
  const { git: directory } = instancePaths(home, story.creation.instance_id)
  for (const repo of story.repos ?? []) {
    const path = hostRepoPath(directory, repo.name)
    if (signal.aborted || !existsSync(path)) continue
    // A promotion of the same instance moves the same refs.
    const lock = `${promotionsFile(directory)}.lock`
    // An upstream that does not answer is no reason to disturb the run.
    const moved = await withLock(lock, () => refresh(parts, repo, path)).catch(() => undefined)
    if (moved === undefined || signal.aborted) continue
    await tell({ type: 'platform.git.behind', data: { repo: repo.name, ...moved } })
  }
}

/** How far the branch that the work began at is ahead of where it was; undefined where it has not moved since the last look. */
async function refresh(
  { token, signal }: RefreshParts,
  { url, branch, base, commit }: ClonedRepo,
  path: string,
): Promise<{ branch: string; commit: string; commits: number } | undefined> {
  const git = new BareGit({ path, deadline: Date.now() + UPSTREAM_REFRESH_LIMIT_MS, signal })
  const watched = (await tipOf(git, branch)) === undefined ? base : branch
  if (watched === null) return undefined
  const before = await tipOf(git, watched)
  const access = await openGitAccess(url, gitHosts(), token)
  try {
    await git.run([...FETCH_QUIETLY, '--prune', '--', url, `+${HEADS}*:${UPSTREAM}*`], { server: access.options })
  } finally {
    await access.close()
  }
  const after = await tipOf(git, watched)
  if (after === undefined || after === before) return undefined
  const range = commit === null ? [after] : [after, `^${commit}`]
  return { branch: watched, commit: after, commits: Number(await git.text('rev-list', '--count', ...range)) }
}

async function tipOf(git: BareGit, branch: string | null): Promise<string | undefined> {
  return branch === null ? undefined : await git.commitOf(`${UPSTREAM}${branch}`)
}
