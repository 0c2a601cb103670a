/**
 * A lock file for short writes by several processes. It names its holder's process identity, so a dead holder never blocks
 * another process.
 */
import { randomBytes } from 'node:crypto'
import { link, readFile, rename, rm, stat, unlink } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { fail } from '../errors.ts'
import { identify, isSameProcess, type ProcessIdentity } from './process-identity.ts'
import { createExclusive } from './write-whole.ts'

const RETRY_MS = 10
const NAMELESS_LIMIT_MS = 2_000
const WAIT_LIMIT_MS = 30_000

export interface LockWait {
  /** As Date.now(). */
  deadline: number
  retryMs?: number
  /** Its reason is thrown where it is aborted. */
  signal?: AbortSignal | undefined
}

/** Runs `work` while holding the lock at `path`. Waits for a live holder and replaces a dead one. Throws `lock_held` at the deadline. */
export async function withLock<T>(path: string, work: () => Promise<T>, wait?: LockWait): Promise<T> {
  const release = await takeLock(path, wait ?? { deadline: Date.now() + WAIT_LIMIT_MS })
  if (release === undefined) throw fail('lock_held', { path })
  try {
    return await work()
  } finally {
    await release()
  }
}

/** Waits for the lock; undefined where a live process holds it at the deadline. The caller releases it. */
export async function takeLock(
  path: string,
  { deadline, retryMs = RETRY_MS, signal }: LockWait,
): Promise<(() => Promise<void>) | undefined> {
  for (;;) {
    signal?.throwIfAborted()
    const release = await tryLock(path)
    if (release !== undefined || Date.now() > deadline) return release
    await sleep(retryMs, undefined, { signal }).catch(() => {})
  }
}

/** Takes the lock if no live process holds it; undefined otherwise. The caller releases it. */
export async function tryLock(path: string): Promise<(() => Promise<void>) | undefined> {
  const release = () => unlink(path).catch(() => {})
  // Readers never see a lock without its holder in it.
  if (await createExclusive(path, JSON.stringify(identify(process.pid)))) return release
  const holder = await readHolder(path)
  const isDead = holder === undefined ? await isOld(path) : !isSameProcess(holder)
  if (!isDead) return undefined
  await removeDead(path, holder)
  return (await createExclusive(path, JSON.stringify(identify(process.pid)))) ? release : undefined
}

/** The name is in the file before the link is made, so a lock without a name is left over and stale. */
async function isOld(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found !== undefined && Date.now() - found.mtimeMs > NAMELESS_LIMIT_MS
}

async function readHolder(path: string): Promise<ProcessIdentity | undefined> {
  try {
    const holder = JSON.parse(await readFile(path, 'utf8')) as ProcessIdentity | null
    return typeof holder?.pid === 'number' ? holder : undefined
  } catch {
    return undefined
  }
}

/** Takes the lock of a dead holder; gives it back if a live process took it first. */
async function removeDead(path: string, holder: ProcessIdentity | undefined): Promise<void> {
  const aside = `${path}.dead.${randomBytes(8).toString('hex')}`
  try {
    await rename(path, aside)
  } catch {
    return
  }
  const taken = await readHolder(aside)
  const isDead = taken === undefined || (taken.pid === holder?.pid && taken.startTime === holder.startTime)
  if (!isDead) await link(aside, path).catch(() => {})
  await rm(aside, { recursive: true, force: true })
}
