/** `serve` from its start to its end: a signal lets it finish, a second one ends it at once. */
import { EXIT } from '../output/exit-codes.ts'
import type { Output } from '../output/output.ts'
import { type CaughtSignal, meaningOf, onSignals } from './signals.ts'

/** Ends what was started; answers how many instances go on without a host. */
interface Running {
  close(): Promise<number>
}

/** Resolves to the exit code once a signal has ended it. Throws what `start` throws. */
export async function untilShutdown(output: Output, start: () => Promise<Running>): Promise<number> {
  let hear: (signal: CaughtSignal) => void = () => {}
  const heard = new Promise<CaughtSignal>((resolve) => {
    hear = resolve
  })
  let count = 0
  const stopListening = onSignals((signal) => {
    count += 1
    // What it was about to say is lost; what is on disk stands.
    if (count > 1) process.exit(meaningOf(signal).exitCode)
    hear(signal)
  })
  try {
    const running = await start()
    await heard
    output.note('Shutting down: requests finish, workers run on. The same signal again ends it at once.')
    const left = await running.close()
    if (left > 0) output.say(leftWords(left))
    return EXIT.ok
  } finally {
    stopListening()
  }
}

function leftWords(left: number): string {
  const instances = left === 1 ? '1 instance goes' : `${left} instances go`
  return `${instances} on without a host; the next command that needs one, or the next serve, adopts ${left === 1 ? 'it' : 'them'}.`
}
