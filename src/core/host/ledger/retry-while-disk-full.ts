/** Waits for room on a full disk: a run must not be lost because a line of its journal could not be written (reliability F7). */
import { setTimeout as sleep } from 'node:timers/promises'
import { ResolveError, systemCode } from '../../errors.ts'

const RETRY_MS = 250

/** Repeats what a full disk refuses until there is room, or until `isOver`; every other error is thrown. */
export async function retryWhileDiskFull(write: () => void, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    try {
      write()
      return
    } catch (error) {
      const code = error instanceof ResolveError ? error.code : systemCode(error)
      if (code !== 'disk_full' && code !== 'ENOSPC' && code !== 'EDQUOT') throw error
      await sleep(RETRY_MS)
    }
  }
}
