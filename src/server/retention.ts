/** Removes instances that ended long ago, regularly, as `resolve instance prune` does (R71); `serve --keep` starts it. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { PruneOutcome } from '../core/index.ts'
import { RETENTION_INTERVAL_MS } from '../core/limits.ts'

export interface RetentionParts {
  keepMs: number
  prune: (olderThanMs: number) => Promise<PruneOutcome>
  say: (message: string) => void
  warn: (message: string) => void
}

/** Starts at once; returns the function that stops it. Never throws: trouble is told, and the next time it is tried again. */
export function startRetention({ keepMs, prune, say, warn }: RetentionParts): () => Promise<void> {
  const stopped = new AbortController()
  // A short time is kept to more closely than a long one.
  const intervalMs = Math.min(RETENTION_INTERVAL_MS, Math.max(1_000, keepMs / 10))
  const going = (async () => {
    while (!stopped.signal.aborted) {
      try {
        const { removed } = await prune(keepMs)
        if (removed.length > 0) {
          say(
            `Removed ${removed.length} ended ${removed.length === 1 ? 'instance' : 'instances'} (--keep): ${named(removed)}.`,
          )
        }
      } catch (error) {
        warn(`Ended instances can't be removed: ${error instanceof Error ? error.message : String(error)}`)
      }
      await sleep(intervalMs, undefined, { signal: stopped.signal, ref: false }).catch(() => {})
    }
  })()
  return async () => {
    stopped.abort()
    await going
  }
}

const NAMED = 20

function named(removed: PruneOutcome['removed']): string {
  const ids = removed.slice(0, NAMED).map(({ instance_id }) => instance_id)
  return `${ids.join(', ')}${removed.length > NAMED ? ` and ${removed.length - NAMED} more` : ''}`
}
