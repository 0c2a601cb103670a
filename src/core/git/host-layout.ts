/**
 * Where the host keeps its own bare repository of each clone of an instance, and the refs in it (docs/git.md, The repository of the host).
 * No worker can write to it, so git may run there.
 */
import { join } from 'node:path'

/** What was pushed. */
export const HEADS = 'refs/heads/'
/** The commit that the work began at. */
export const START = 'refs/start'
/** The branches of the upstream, as they were at the last look. */
export const UPSTREAM = 'refs/upstream/'
/** Branches and tags of the upstream as they were when the instance began: `refs/seeded/heads/…`, `refs/seeded/tags/…`. */
export const SEEDED = 'refs/seeded/'
export const SNAPSHOTS = 'refs/snapshots/'
/** A snapshot that was taken for a reader; the next one replaces it. */
export const LIVE = 'refs/live'

/** `git`: the directory for git of an instance. */
export function hostRepoPath(git: string, repo: string): string {
  return join(git, `${repo}.git`)
}
