/** Real signals while an instance is followed (cli.md, Leaving and stopping). In raw mode Ctrl-C is a byte and fires none. */

import type { LeftReason } from './documents.ts'
import { EXIT, type ExitCode } from './exit-codes.ts'

export interface SignalMeaning {
  reason: LeftReason
  exitCode: ExitCode
}

const MEANING = {
  SIGHUP: { reason: 'hangup', exitCode: EXIT.hangup },
  SIGINT: { reason: 'interrupted', exitCode: EXIT.interrupted },
  SIGTERM: { reason: 'terminated', exitCode: EXIT.terminated },
} as const satisfies Record<string, SignalMeaning>

export type CaughtSignal = keyof typeof MEANING

export function meaningOf(signal: CaughtSignal): SignalMeaning {
  return MEANING[signal]
}

/** Calls back on each of the three. Returns how to stop listening. */
export function onSignals(callback: (signal: CaughtSignal) => void): () => void {
  const listeners = (Object.keys(MEANING) as CaughtSignal[]).map((signal) => {
    const listener = () => callback(signal)
    process.on(signal, listener)
    return () => process.off(signal, listener)
  })
  return () => {
    for (const stop of listeners) stop()
  }
}
