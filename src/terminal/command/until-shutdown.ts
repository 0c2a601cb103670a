/** Runs `serve` until a signal: the first one shuts it down gracefully, the second one ends the process at once. */
import { EXIT } from '../output/exit-codes.ts'
import { goOnMute, type Output } from '../output/output.ts'
import { type CaughtSignal, meaningOf, onSignals } from './signals.ts'

/** Shuts down; returns how many instances continue without a host. */
interface Running {
  close(): Promise<number>
}

/** Resolves to the exit code after the shutdown. Throws what `start` throws. */
export async function untilShutdown(output: Output, start: () => Promise<Running>): Promise<number> {
  goOnMute()
  let onSignal: (signal: CaughtSignal) => void = () => {}
  const signalled = new Promise<CaughtSignal>((resolve) => {
    onSignal = resolve
  })
  let count = 0
  const stopListening = onSignals((signal) => {
    count += 1
    // Unsent responses are lost; everything accepted is on disk.
    if (count > 1) process.exit(meaningOf(signal).exitCode)
    onSignal(signal)
  })
  try {
    const running = await start()
    await signalled
    output.note('Shutting down: requests finish, workers keep running. Repeat the signal to end at once.')
    const left = await running.close()
    if (left > 0) output.say(leftWords(left))
    return EXIT.ok
  } finally {
    stopListening()
  }
}

function leftWords(left: number): string {
  const instances = left === 1 ? '1 instance continues' : `${left} instances continue`
  return `${instances} without a host. The next serve, or a command that needs ${left === 1 ? 'it, adopts it' : 'them, adopts them'}.`
}
