/** Ends a container and all that runs in it. Whoever removes one calls this, so that "gone" means gone. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ENGINE_CALL_LIMIT_MS } from '../../limits.ts'
import { type Engine, EngineRefusal } from './engine.ts'

const LOOK_MS = 50
const GONE = 404
const GOING = 409

/** Returns when it is not there any more, whoever removed it; one that never goes is left after the time of a call. Throws `docker_unreachable`. */
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
      // Somebody else is at it: it is gone when they are through.
      if (Date.now() > deadline) return
    }
    await sleep(LOOK_MS)
  }
}
