/** Changes the owner of a whole tree. */
import { lchown, readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** For git, which refuses to work in a directory of another user. Links are changed themselves, not what they name. */
export async function giveTo(path: string, { uid, gid }: { uid: number; gid: number }): Promise<void> {
  const entries = await readdir(path, { withFileTypes: true })
  await lchown(path, uid, gid)
  for (const entry of entries) {
    const at = join(path, entry.name)
    if (entry.isDirectory()) await giveTo(at, { uid, gid })
    else await lchown(at, uid, gid)
  }
}
