/**
 * A stand-in for a coordination directory that can no longer be used: every use throws the reason, so the instance can still
 * be ended.
 */
import type { CoordinationDirectory, Driver } from '../../worker/worker.ts'

/** The coordination directory of the worker, or a stand-in with the reason why there is none. */
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
    placeInWorkspace: refuse,
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

/** Throws the reason that {@link unusableCoordination} was made with, if it is one. */
export function requireCoordination(coordination: CoordinationDirectory): void {
  coordination.names('data', 1)
}
