/** Measures the size of a directory and the free space of its file system; the watchdog and doctor call it (threats FS-12). */
import { type Dir, type Dirent, lstatSync, opendirSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'

const BLOCK_BYTES = 512
/** The number of entries that are measured before other work of the process gets a turn. */
const BATCH = 64

/**
 * The bytes of everything below a directory. Measures at most `maxEntries` entries, so the result may be too small but never
 * takes long. Links are counted, not followed; an entry that vanishes meanwhile counts as 0.
 */
export async function bytesBelow(directory: string, maxEntries: number): Promise<number> {
  let total = 0
  let measured = 0
  const open = [directory]
  for (let next = open.pop(); next !== undefined && measured < maxEntries; next = open.pop()) {
    for (const entry of entriesOf(next)) {
      if (measured === maxEntries) break
      const path = join(next, entry.name)
      if (entry.isDirectory()) open.push(path)
      total += bytesOf(path)
      measured += 1
      if (measured % BATCH === 0) await nextTurn()
    }
  }
  return total
}

/** As many as there are; none of a directory that is gone, or may not be read. Calls of a few microseconds: through the thread pool, each would take several times as long. */
function* entriesOf(path: string): Generator<Dirent> {
  let directory: Dir | undefined
  try {
    directory = opendirSync(path, { bufferSize: BATCH })
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) yield entry
  } catch {
    // It is gone, or may not be read.
  } finally {
    directory?.closeSync()
  }
}

/** The space of the file system that holds the path. */
export async function roomAt(path: string): Promise<{ freeBytes: number; totalBytes: number }> {
  const { bavail, blocks, bsize } = await statfs(path)
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
}

function bytesOf(path: string): number {
  try {
    return lstatSync(path).blocks * BLOCK_BYTES
  } catch {
    return 0
  }
}
