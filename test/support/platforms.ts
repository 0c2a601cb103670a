/** Platforms on a test's home, and what their hosts are asked from outside. */
import { dirname } from 'node:path'
import { installedFile } from '../../src/core/files/installation.ts'
import { type LocalPlatform, openLocalPlatform } from '../../src/core/platform/local/local.ts'
import { callOwner } from '../../src/core/platform/local/reach-host.ts'
import type { Platform } from '../../src/core/platform/platform.ts'
import { socketApi } from '../../src/server/socket-api.ts'

/** A platform whose instances other processes can ask for. */
export function platformOn(home: string): Promise<LocalPlatform> {
  const builtins = dirname(dirname(installedFile('resolvers/hello/resolver.js') as string))
  return openLocalPlatform({ home, builtins, socketApi })
}

/** Asks the live host that owns the instance, over its socket, as another process would. */
export function askOwner<T>(home: string, id: string, call: (owner: Platform) => Promise<T>): Promise<T> {
  return callOwner(home, id, undefined, call)
}
