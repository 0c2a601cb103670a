/** Stands for the coordination directory of a worker that cannot be used any more: every use says why, so the instance can still be ended. */
import type { CoordinationDirectory, Driver } from '../../worker/worker.ts'

/** The coordination directory of the worker, or one that says why there is none. */
export function openCoordination(driver: Driver): CoordinationDirectory {
  try {
    return driver.openCoordination()
  } catch (error) {
    return unusableCoordination(error)
  }
}

function unusableCoordination(why: unknown): CoordinationDirectory {
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

/** Throws what {@link unusableCoordination} was made with, where it was. */
export function requireCoordination(coordination: CoordinationDirectory): void {
  coordination.names('data', 1)
}
