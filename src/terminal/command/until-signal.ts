/** What goes on until the person or a signal ends it: `inbox --watch`, `list --watch`. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection } from '../../core/index.ts'
import { REMOTE_PATIENCE_MS } from '../../core/limits.ts'
import { isConnectionError, lostError } from '../output/connection.ts'
import { EXIT, type ExitCode } from '../output/exit-codes.ts'
import { meaningOf, onSignals } from './signals.ts'

/** How often they look again. */
const LOOK_MS = 500

export interface LookOptions {
  /** Told with every look that failed for want of the server, and when one succeeds again. */
  onConnection: (connection: Connection) => void
  /** The command that looks again, for who is told that it was given up. */
  again: string
  waitLimitMs?: number
}

/**
 * Looks again and again; returns the exit code of the signal that ended it (Ctrl-C: 130). A server that was there and is gone is
 * looked for as long as a stream of events is, then `server_unreachable` is thrown.
 */
export async function lookUntilSignal(look: () => Promise<void>, options: LookOptions): Promise<ExitCode> {
  const { onConnection, again, waitLimitMs = REMOTE_PATIENCE_MS } = options
  const ended = new AbortController()
  let exitCode: ExitCode = EXIT.interrupted
  const stopListening = onSignals((signal) => {
    exitCode = meaningOf(signal).exitCode
    ended.abort()
  })
  // A look may wait long for a server that does not answer.
  const left = new Promise<void>((done) => ended.signal.addEventListener('abort', () => done(), { once: true }))
  let wasThere = false
  let since: number | undefined
  try {
    while (!ended.signal.aborted) {
      const began = Date.now()
      try {
        await Promise.race([look(), left])
        if (since !== undefined && !ended.signal.aborted) onConnection({ state: 'back', since })
        wasThere = true
        since = undefined
      } catch (error) {
        if (!wasThere || !isConnectionError(error)) throw error
        since ??= began
        const givesUpAt = since + waitLimitMs
        if (Date.now() >= givesUpAt) throw lostError(error, { since, again })
        onConnection({ state: 'lost', since, givesUpAt })
      }
      await sleep(LOOK_MS, undefined, { signal: ended.signal }).catch(() => undefined)
    }
  } finally {
    stopListening()
  }
  return exitCode
}
