/**
 * Limits the number of open event streams: a browser opens at most six connections to a server for all its pages. At most four pages
 * hold a stream; the others poll every second. So all pages stay live, and connections remain free for other requests.
 */

const SLOTS = 4

/** Takes a stream slot until `release` is called; undefined if all are taken or the browser has no Web Locks. */
export async function takeSlot(): Promise<{ release: () => void } | undefined> {
  // Web Locks exist on secure origins only: over plain HTTP to another machine, every page polls.
  const { locks } = navigator as { locks?: LockManager }
  if (locks === undefined) return undefined
  for (let slot = 0; slot < SLOTS; slot += 1) {
    const release = await tryLock(locks, `resolve.stream.${slot}`)
    if (release !== undefined) return { release }
  }
  return undefined
}

function tryLock(locks: LockManager, name: string): Promise<(() => void) | undefined> {
  return new Promise((resolve) => {
    locks
      .request(name, { ifAvailable: true }, (lock) => {
        if (lock === null) return resolve(undefined)
        return new Promise<void>((done) => resolve(done))
      })
      .catch(() => resolve(undefined))
  })
}
