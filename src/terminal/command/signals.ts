/** Signals while an instance is followed (docs/cli.md, Leaving and stopping). In raw mode Ctrl-C is a byte and sends no signal. */
import { fail } from '../../core/errors.ts'
import { CommandError } from '../output/command-error.ts'
import type { LeftReason } from '../output/documents.ts'
import { EXIT, type ExitCode } from '../output/exit-codes.ts'

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

let kept: { caught: () => CaughtSignal | undefined; stop: () => void } | undefined

/**
 * Runs the work that precedes following an instance. A signal during the work rejects with `interrupted`. A signal between the
 * end of the work and {@link onSignals} is stored and delivered there.
 */
export async function beforeFollowing<T>(work: () => Promise<T>): Promise<T> {
  let caught: CaughtSignal | undefined
  let giveUp: (error: Error) => void = () => {}
  const givenUp = new Promise<never>((_, reject) => {
    giveUp = reject
  })
  const stop = listen((signal) => {
    caught ??= signal
    giveUp(new CommandError(fail('interrupted', { signal }), {}, meaningOf(signal).exitCode))
  })
  kept = { caught: () => caught, stop }
  return await Promise.race([work(), givenUp])
}

/** Calls back on SIGHUP, SIGINT and SIGTERM. Returns the function that stops listening. */
export function onSignals(callback: (signal: CaughtSignal) => void): () => void {
  const stop = listen(callback)
  const early = kept?.caught()
  kept?.stop()
  kept = undefined
  if (early !== undefined) queueMicrotask(() => callback(early))
  return stop
}

function listen(callback: (signal: CaughtSignal) => void): () => void {
  const listeners = (Object.keys(MEANING) as CaughtSignal[]).map((signal) => {
    const listener = () => callback(signal)
    process.on(signal, listener)
    return () => process.off(signal, listener)
  })
  return () => {
    for (const stop of listeners) stop()
  }
}
