/** Measures the size of a directory and the free space of its file system; the watchdog and doctor call it (threats FS-12). */
import { lstat, opendir, statfs } from 'node:fs/promises'
import { join } from 'node:path'

const BLOCK_BYTES = 512
/** The number of entries that are measured before other work of the process gets a turn. */
const BATCH = 64

/**
 * The bytes of everything below a directory. Measures at most `maxEntries` entries, so the result may be too small but never
 * takes long. Links are counted, not followed; an entry that vanishes meanwhile counts as 0.
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
      // The entry is gone, or may not be read.
    }
    left -= names.length
    for (let at = 0; at < names.length; at += BATCH) {
      const batch = names.slice(at, at + BATCH).map((name) => bytesOf(join(next as string, name)))
      for (const bytes of await Promise.all(batch)) total += bytes
    }
  }
  return total
}

/** The space of the file system that holds the path. */
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
