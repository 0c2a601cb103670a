/** The states of an instance host and the legal moves between them; {@link file://./instance-host.ts} holds one state at a time. */
import { fail } from '../../errors.ts'
import type { RunWatch } from './run-watch.ts'
import type { WorkerSession } from './worker-session.ts'

/** Why the wait for a ready worker ended before the worker was ready. */
export type Interruption = 'ended' | 'stopped' | 'released'

export type HostState =
  /** `live` was not called yet. */
  | { name: 'idle' }
  /** Waits for its turn to start a worker. A stop or a pause ends the wait. */
  | { name: 'queued'; wait: AbortController }
  /** Adopts or starts a worker. A stop aborts the launch. */
  | { name: 'launching'; launch: AbortController }
  /** Waits for the answer to `resolver.initialize`. */
  | { name: 'getting-ready'; session: WorkerSession; interrupt: (why: Interruption) => void }
  /** The resolver runs, or is about to. Answers and messages are delivered from here on. */
  | { name: 'running'; session: WorkerSession; runWatch: RunWatch }
  /** The run is over: ends the worker and writes the outcome. Answers and messages are still delivered. */
  | { name: 'settling'; session: WorkerSession }
  /** There was no run of this worker: writes the outcome. No session where the launch itself failed. */
  | { name: 'ending-before-run'; session: WorkerSession | undefined }
  /** Final. The host touches nothing of the instance any more. */
  | { name: 'released' }

type StateName = HostState['name']

const MOVES: Readonly<Record<StateName, readonly StateName[]>> = {
  idle: ['queued', 'launching', 'released'],
  queued: ['launching', 'ending-before-run', 'released'],
  launching: ['getting-ready', 'ending-before-run', 'released'],
  'getting-ready': ['running', 'ending-before-run', 'released'],
  running: ['settling', 'released'],
  settling: ['released'],
  'ending-before-run': ['released'],
  released: [],
}

/** Throws `bug` for a move that the table does not have. */
export function requireLegalMove(from: StateName, to: StateName): void {
  if (!MOVES[from].includes(to)) throw fail('bug', { what: `an instance host cannot go from ${from} to ${to}` })
}
