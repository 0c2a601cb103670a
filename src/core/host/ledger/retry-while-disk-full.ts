/**
 * Retries a write while the disk is full: a run must not be lost because a journal line could not be written (reliability
 * F7).
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { ResolveError, systemCode } from '../../errors.ts'

const RETRY_MS = 250

/** Repeats `disk_full` failures until there is space, or until `isOver`; other errors are thrown. */
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
