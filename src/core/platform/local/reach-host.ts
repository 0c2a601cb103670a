/** Calls the live host that owns an instance, in any process, over that host's socket (architecture, decision 2; R39). */
import { fail, ResolveError } from '../../errors.ts'
import { instancePaths } from '../../store/home.ts'
import { readOwner } from '../../store/owners.ts'
import type { Platform } from '../platform.ts'

/**
 * Calls the owner's API. `ownSocket` is the socket of this process. Throws `host_unreachable` where no owner can be reached,
 * and the errors that the host answers with.
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
  try {
    return await call(remote)
  } catch (error) {
    const isLost = error instanceof ResolveError && error.code === 'server_unreachable'
    if (!isLost) throw error
    throw fail('host_unreachable', { instance: id, reason: 'it did not answer' }, { cause: error })
  } finally {
    await remote.close()
  }
}
