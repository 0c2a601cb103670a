/**
 * Removes what a killed server left in its repositories, before it listens: half of a push, which takes space, and locks, which refuse
 * every later push. No git process of this server runs at that time.
 */
import { rmSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import { git, gitText } from './git.ts'
import type { Repository } from './repositories.ts'

/** Returns how many files and directories were removed. */
export async function sweep(repositories: readonly Repository[]): Promise<number> {
  let removed = 0
  for (const { directory } of repositories) {
    for (const path of await leftoversIn(directory)) {
      rmSync(path, { recursive: true, force: true })
      removed += 1
    }
    await removeAskingRefs(directory)
  }
  return removed
}

async function leftoversIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true, recursive: true })
  return entries.flatMap((entry) => {
    const path = join(entry.parentPath, entry.name)
    return isLeftover(relative(directory, path)) ? [path] : []
  })
}

/** Pure; the path is relative to the repository. */
export function isLeftover(path: string): boolean {
  if (/^objects\/(?:tmp_objdir-incoming-[^/]*|incoming-[^/]*)$/.test(path)) return true
  if (/^objects\/(?:pack\/|[0-9a-f]{2}\/)?\.?tmp_[^/]*$/.test(path)) return true
  return basename(path).endsWith('.lock') && !path.startsWith('objects/pack/pack-')
}

/** A request for a pull request is a ref only until it is answered. */
async function removeAskingRefs(directory: string): Promise<void> {
  const refs = await gitText(directory, ['for-each-ref', '--format=delete %(refname)', 'refs/for'])
  if (refs !== '') await git(directory, ['update-ref', '--stdin'], { input: `${refs}\n` })
}
