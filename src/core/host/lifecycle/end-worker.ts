/** Ends the worker of a finished run with its whole process tree (R20, R26): shutdown, SIGTERM, SIGKILL. */
import { setTimeout as sleep } from 'node:timers/promises'
import { failpoint } from '../../failpoints.ts'
import { SHUTDOWN_LIMIT_MS, TERM_LIMIT_MS } from '../../limits.ts'
import type { Driver, Worker } from '../../worker/worker.ts'
import type { ResolverCalls } from '../launch/resolver-calls.ts'

/** Returns when no process of the worker is left. */
export async function endWorker(
  { worker, calls }: { worker: Worker; calls: ResolverCalls },
  driver: Driver,
): Promise<void> {
  if (worker.condition.engine === 'running') {
    calls.shutdown()
    failpoint('end.asked')
    await Promise.race([worker.ended, sleep(SHUTDOWN_LIMIT_MS, undefined, { ref: false })])
  }
  if (await worker.isGone()) return await driver.discard()
  // If the main process ended by itself, its remaining processes have no work left to save.
  const limitMs = worker.condition.engine === 'running' ? TERM_LIMIT_MS : SHUTDOWN_LIMIT_MS
  failpoint('end.terminating')
  worker.signal('SIGTERM')
  const deadline = Date.now() + limitMs
  while (!(await worker.isGone()) && Date.now() < deadline) await sleep(POLL_MS)
  await driver.sweep()
}

const POLL_MS = 50
