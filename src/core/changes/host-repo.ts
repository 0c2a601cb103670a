/**
 * The bare repository that the host keeps of each clone of an instance (docs/git.md, Seeing the work): no worker can write to it, so git may run
 * there. It is made together with the clone, before a worker begins.
 */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { BareGit } from '../git/bare-git.ts'
import { CHANGES_GIT_LIMIT_MS } from '../limits.ts'

/** The commit that the work began at. */
export const START = 'refs/start'
/** The branches of the upstream, as they were when the instance began. */
export const UPSTREAM = 'refs/upstream/'
/** What was pushed. */
export const HEADS = 'refs/heads/'
export const SNAPSHOTS = 'refs/snapshots/'
/** A snapshot that was taken for a reader; the next one replaces it. */
export const LIVE = 'refs/live'

/** `git`: the directory for git of an instance. */
export function hostRepoPath(git: string, repo: string): string {
  return join(git, `${repo}.git`)
}

/** Undefined for an instance of an older version, which has none. */
export async function openHostRepo(path: string, signal?: AbortSignal): Promise<BareGit | undefined> {
  const found = await stat(path).catch(() => undefined)
  if (found?.isDirectory() !== true) return undefined
  return new BareGit({ fails: 'work_unreadable', path, deadline: Date.now() + CHANGES_GIT_LIMIT_MS, signal })
}
