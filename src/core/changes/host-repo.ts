/** Opens the bare repository that the host keeps of a clone (docs/git.md, Seeing the work). It is made together with the clone, before a worker begins. */
import { stat } from 'node:fs/promises'
import { BareGit } from '../git/bare-git.ts'
import { CHANGES_GIT_LIMIT_MS } from '../limits.ts'

/** Undefined for an instance of an older version, which has none. */
export async function openHostRepo(path: string, signal?: AbortSignal): Promise<BareGit | undefined> {
  const found = await stat(path).catch(() => undefined)
  if (found?.isDirectory() !== true) return undefined
  return new BareGit({ fails: 'work_unreadable', path, deadline: Date.now() + CHANGES_GIT_LIMIT_MS, signal })
}
