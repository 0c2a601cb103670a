/**
 * Runs one round of one part in a process of its own; {@link file://./main.ts} forks it. Argument: the part. Reports its
 * samples, or why there are none.
 */
import { type Sample, Unavailable } from './figure.ts'
import { PARTS } from './parts.ts'

export type Outcome = { samples: Sample[] } | { unavailable: string }

async function measure(): Promise<Outcome> {
  try {
    return { samples: (await PARTS[process.argv[2] ?? '']?.round()) ?? [] }
  } catch (error) {
    if (error instanceof Unavailable) return { unavailable: error.message }
    throw error
  }
}

const outcome = await measure()
process.send?.(outcome, () => process.exit(0))
