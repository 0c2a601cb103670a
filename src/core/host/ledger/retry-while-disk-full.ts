/**
 * Retries a write while the disk is full: a run must not be lost because a journal line could not be written (reliability
 * F7).
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { isDiskFull } from '../../errors.ts'

const RETRY_MS = 250

/** Repeats `disk_full` failures until there is space, or until `isOver`; other errors are thrown. */
export async function retryWhileDiskFull(write: () => void, isOver: () => boolean): Promise<void> {
  await retryWhile(isDiskFull, write, isOver)
}

/** Repeats failures that `passes` accepts, until `isOver`; other errors are thrown. */
export async function retryWhile(
  passes: (error: unknown) => boolean,
  act: () => void,
  isOver: () => boolean,
): Promise<void> {
  while (!isOver()) {
    try {
      act()
      return
    } catch (error) {
      if (!passes(error)) throw error
      await sleep(RETRY_MS)
    }
  }
}
