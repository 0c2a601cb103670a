/** Asks a git server which commits a ref means, without fetching any. The cache of bundles calls it. */
import { openGitAccess } from './git-access.ts'
import { gitHosts } from './git-hosts.ts'
import { runGit } from './run-git.ts'

export interface RemoteQuestion {
  url: string
  /** A branch or a tag; null for the default branch. */
  ref: string | null
  /** Of the configured git host; sent to no other one. */
  token?: string
  /** Where git runs: an existing directory. */
  cwd: string
  deadline: number
  signal?: AbortSignal | undefined
}

/** Empty where the server does not answer, or has no such ref. A branch and a tag may have the same name. */
export async function remoteCommits({ url, ref, token, cwd, deadline, signal }: RemoteQuestion): Promise<string[]> {
  const access = await openGitAccess(url, gitHosts(), token)
  try {
    const names = ref === null ? ['HEAD'] : [`refs/heads/${ref}`, `refs/tags/${ref}`, `refs/tags/${ref}^{}`]
    const args = ['ls-remote', '--', url, ...names]
    const end = await runGit({ args, cwd, deadline, maxBytes: Number.POSITIVE_INFINITY, signal, ...access.options })
    return end.kind === 'done' ? [...end.stdout.matchAll(/^([0-9a-f]{40,64})\t/gm)].map(([, id]) => id ?? '') : []
  } finally {
    await access.close()
  }
}
