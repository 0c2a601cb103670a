/** Polls until a signal ends the command: for `inbox --watch` and `list --watch`. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection } from '../../core/index.ts'
import { REMOTE_PATIENCE_MS } from '../../core/limits.ts'
import { isConnectionError, lostError } from '../output/connection.ts'
import { EXIT, type ExitCode } from '../output/exit-codes.ts'
import { meaningOf, onSignals } from './signals.ts'

const POLL_MS = 500

export interface PollOptions {
  /** Called with each poll that failed because the server was unreachable, and when a poll succeeds again. */
  onConnection: (connection: Connection) => void
  /** The command that starts polling again, for the error message after giving up. */
  again: string
  waitLimitMs?: number
}

/**
 * Polls repeatedly; returns the exit code of the signal that ended it (Ctrl-C: 130). If the server becomes unreachable after the
 * first success, polling continues for `waitLimitMs`; then `server_unreachable` is thrown.
 */
export async function pollUntilSignal(poll: () => Promise<void>, options: PollOptions): Promise<ExitCode> {
  const { onConnection, again, waitLimitMs = REMOTE_PATIENCE_MS } = options
  const ended = new AbortController()
  let exitCode: ExitCode = EXIT.interrupted
  const stopListening = onSignals((signal) => {
    exitCode = meaningOf(signal).exitCode
    ended.abort()
  })
  // A poll can take long if the server does not answer; a signal ends it at once.
  const left = new Promise<void>((done) => ended.signal.addEventListener('abort', () => done(), { once: true }))
  let wasThere = false
  let since: number | undefined
  try {
    while (!ended.signal.aborted) {
      const began = Date.now()
      try {
        await Promise.race([poll(), left])
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
      await sleep(POLL_MS, undefined, { signal: ended.signal }).catch(() => undefined)
    }
  } finally {
    stopListening()
  }
  return exitCode
}
