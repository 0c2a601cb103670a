/**
 * Removes a container with everything that runs in it, and waits until it is gone. Everything that removes containers calls
 * this.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { ENGINE_CALL_LIMIT_MS } from '../../limits.ts'
import { type Engine, EngineRefusal } from './engine.ts'

const LOOK_MS = 50
const GONE = 404
const GOING = 409

/**
 * Returns when the container no longer exists, even if another process removed it; gives up after the limit of a call. Throws
 * `docker_unreachable`.
 */
export async function removeContainer(engine: Engine, id: string): Promise<void> {
  const deadline = Date.now() + ENGINE_CALL_LIMIT_MS
  for (;;) {
    try {
      await engine.call((docker, abortSignal) => docker.getContainer(id).remove({ force: true, v: true, abortSignal }))
      return
    } catch (error) {
      if (!(error instanceof EngineRefusal)) throw error
      if (error.status === GONE) return
      if (error.status !== GOING) throw error
      // Another process is removing it: wait until it is gone.
      if (Date.now() > deadline) return
    }
    await sleep(LOOK_MS)
  }
}
