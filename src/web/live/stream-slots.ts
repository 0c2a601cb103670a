/**
 * A browser opens six connections to a server and no more, for all its pages together. So at most four pages hold an event
 * stream, and the others ask for what is new every second: all stay live, and connections are left for everything else.
 */

const SLOTS = 4

/** A place to hold a stream until `release` is called; undefined where all are taken, or this browser can't tell. */
export async function takeSlot(): Promise<{ release: () => void } | undefined> {
  // Only there on secure origins: over plain HTTP to another machine every page asks.
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
