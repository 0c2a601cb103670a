/** Stands for the ground of a worker that cannot be used any more: every use says why, so the instance can still be ended. */
import type { Driver, Ground } from '../../worker/worker.ts'

/** The ground of the worker, or one that says why there is none. */
export function openGround(driver: Driver): Ground {
  try {
    return driver.openGround()
  } catch (error) {
    return lostGround(error)
  }
}

function lostGround(why: unknown): Ground {
  const refuse = (): never => {
    throw why
  }
  return {
    seen: { project: '', resolve: '', workspace: '' },
    put: refuse,
    remove: refuse,
    clearDrafts: refuse,
    read: refuse,
    open: refuse,
    names: refuse,
    list: refuse,
    follow: refuse,
    watch: refuse,
    close: () => {},
  }
}

/** Throws what {@link lostGround} was made with, where it was. */
export function requireGround(ground: Ground): void {
  ground.names('data', 1)
}
