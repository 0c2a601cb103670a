/** Calls the live host that owns an instance, in any process, over that host's socket (architecture, decision 2; R39). */
import { setTimeout as sleep } from 'node:timers/promises'
import { fail, ResolveError } from '../../errors.ts'
import { answersRequests } from '../../host/process/reach.ts'
import { HOST_KNOCK_MS, HOST_SILENT_MS } from '../../limits.ts'
import { instancePaths } from '../../store/home.ts'
import { type Owner, readOwner } from '../../store/owners.ts'
import type { Platform } from '../platform.ts'

/**
 * Calls the owner's API. `ownSocket` is the socket of this process. Throws `host_unreachable` where no owner can be reached,
 * `host_silent` where the owner answers nothing for 5 s, and the errors that the host answers with.
 */
export async function callOwner<T>(
  home: string,
  id: string,
  ownSocket: string | undefined,
  call: (owner: Platform) => Promise<T>,
): Promise<T> {
  const owner = readOwner(instancePaths(home, id).owners)
  // An owner file with this process's own socket is outdated: this process has just released the instance.
  if (owner === undefined || owner.released || owner.socket === ownSocket) {
    throw fail('host_unreachable', { instance: id, reason: 'it has no host' })
  }
  const { openRemotePlatform } = await import('../remote/remote.ts')
  const remote = openRemotePlatform({ socket: owner.socket })
  const answered = new AbortController()
  try {
    return await Promise.race([call(remote), silence(owner, id, answered.signal)])
  } catch (error) {
    const isLost = error instanceof ResolveError && error.code === 'server_unreachable'
    if (!isLost) throw error
    throw fail('host_unreachable', { instance: id, reason: 'it did not answer' }, { cause: error })
  } finally {
    answered.abort()
    await remote.close()
  }
}

/** Throws `host_silent` once the host answers nothing. A call may take longer than that while its host answers others. */
async function silence(owner: Owner, id: string, answered: AbortSignal): Promise<never> {
  for (;;) {
    await sleep(HOST_SILENT_MS - HOST_KNOCK_MS, undefined, { signal: answered, ref: false })
    if (await answersRequests(owner.socket, HOST_KNOCK_MS)) continue
    throw fail('host_silent', { instance: id, pid: owner.process.pid, kept: false })
  }
}
