/** How much a directory takes on disk, and how much room is left there: what a watchdog samples (threats FS-12). */
import { lstat, opendir, statfs } from 'node:fs/promises'
import { join } from 'node:path'

const BLOCK_BYTES = 512
/** How many entries are looked at between two turns of everything else. */
const BATCH = 64

/**
 * The bytes of everything below a directory; of at most `maxEntries` of them, so it may be too little but never takes long.
 * Links are counted, not followed; what vanishes meanwhile counts nothing.
 */
export async function bytesBelow(directory: string, maxEntries: number): Promise<number> {
  let total = 0
  let left = maxEntries
  const open = [directory]
  for (let next = open.pop(); next !== undefined && left > 0; next = open.pop()) {
    const names: string[] = []
    try {
      for await (const entry of await opendir(next, { bufferSize: BATCH })) {
        if (names.length === left) break
        if (entry.isDirectory()) open.push(join(next, entry.name))
        names.push(entry.name)
      }
    } catch {
      // It is gone, or closed to us.
    }
    left -= names.length
    for (let at = 0; at < names.length; at += BATCH) {
      const batch = names.slice(at, at + BATCH).map((name) => bytesOf(join(next as string, name)))
      for (const bytes of await Promise.all(batch)) total += bytes
    }
  }
  return total
}

/** Of the file system a path lies on. */
export async function roomAt(path: string): Promise<{ freeBytes: number; totalBytes: number }> {
  const { bavail, blocks, bsize } = await statfs(path)
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
}

async function bytesOf(path: string): Promise<number> {
  try {
    return (await lstat(path)).blocks * BLOCK_BYTES
  } catch {
    return 0
  }
}
