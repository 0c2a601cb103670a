/** Ends the processes of session helpers by the mark in their environment, which everything carries that they started (Linux). */
import { setTimeout as sleep } from 'node:timers/promises'
import { fail } from '../../core/errors.ts'
import { endProcess, processesOf } from '../../sessions/guardian/processes.ts'

const LIMIT_MS = 5_000
const LOOK_MS = 20

/** Ends every other helper of the worker, with what it started. Throws `session_helper_failed` where one can't be ended. */
export async function takeOver(resolveDir: string, ownMark: string): Promise<void> {
  for (const until = Date.now() + LIMIT_MS; ; await sleep(LOOK_MS)) {
    const others = processesOf(resolveDir).filter(({ helper }) => helper !== undefined && helper !== ownMark)
    if (others.length === 0) return
    if (Date.now() > until)
      throw fail('session_helper_failed', { reason: 'an earlier one of this worker does not end' })
    for (const { pid } of others) endProcess(pid, 'SIGKILL')
  }
}

/** What this helper started and left behind: it ends with it. */
export function endHelper(resolveDir: string, ownMark: string): void {
  for (const { pid, helper } of processesOf(resolveDir))
    if (helper === ownMark && ownMark !== '' && pid !== process.pid) endProcess(pid, 'SIGKILL')
}
