/** Removes a directory with everything below it, whatever a resolver left there; prune calls it. */
import { randomBytes } from 'node:crypto'
import { chmod, lstat, readdir, rename, rm, rmdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'

/** False where something may not be removed. */
export async function removeTree(path: string): Promise<boolean> {
  try {
    await rm(path, { recursive: true, force: true, maxRetries: 3 })
    return true
  } catch {
    // A read-only directory, as package managers create, or a path that is too long for the system.
  }
  try {
    await removeFlat(path)
    return true
  } catch {
    return false
  }
}

/**
 * Opens each directory up and moves it directly below the root before its entries are removed. No path becomes longer than that,
 * however deep the tree is (threats FS-15). Links are removed and not followed.
 */
async function removeFlat(root: string): Promise<void> {
  if (!(await lstat(root)).isDirectory()) return await unlink(root)
  await chmod(root, 0o700)
  const mark = randomBytes(4).toString('hex')
  const waiting: string[] = []
  let moved = 0
  for (const entry of await readdir(root, { withFileTypes: true })) {
    const at = join(root, entry.name)
    if (entry.isDirectory()) waiting.push(at)
    else await unlink(at)
  }
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    await chmod(next, 0o700)
    for (const entry of await readdir(next, { withFileTypes: true })) {
      const at = join(next, entry.name)
      if (!entry.isDirectory()) {
        await unlink(at)
        continue
      }
      moved += 1
      const flat = join(root, `.${mark}-${moved}`)
      // Moving a directory needs the right to write into it.
      await chmod(at, 0o700)
      await rename(at, flat)
      waiting.push(flat)
    }
    await rmdir(next)
  }
  await rmdir(root)
}
