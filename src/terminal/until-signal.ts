/** What goes on until the person or a signal ends it: `inbox --watch`, `list --watch`. */
import { setTimeout as sleep } from 'node:timers/promises'
import { EXIT, type ExitCode } from './exit-codes.ts'
import { meaningOf, onSignals } from './signals.ts'

/** How often they look again. */
const LOOK_MS = 500

/** Looks again and again; returns the exit code of the signal that ended it (Ctrl-C: 130). */
export async function lookUntilSignal(look: () => Promise<void>): Promise<ExitCode> {
  const ended = new AbortController()
  let exitCode: ExitCode = EXIT.interrupted
  const stopListening = onSignals((signal) => {
    exitCode = meaningOf(signal).exitCode
    ended.abort()
  })
  try {
    while (!ended.signal.aborted) {
      await look()
      await sleep(LOOK_MS, undefined, { signal: ended.signal }).catch(() => undefined)
    }
  } finally {
    stopListening()
  }
  return exitCode
}
