/**
 * The environment of a resolver in a container: the platform's variables and those of its container_setup (R45, threats MAN-3).
 * Pure.
 */
import { fail } from '../../errors.ts'
import { RESOLVE_DIRECTORY, RESOLVER_UID, SDK } from '../engine/container-places.ts'

/** A resolver must not set variables that change how programs are found and loaded, or that the platform uses. */
const DENIED =
  /^(LD_.*|NODE_OPTIONS|NODE_CHANNEL_.*|PATH|DOCKER_.*|GIT_.*|RESOLVE_.*|TINI_.*|BASH_ENV|ENV|IFS|PROMPT_COMMAND)$/i

/** Throws `environment_refused`. */
export function refuseEnvironment(resolver: string, added: Readonly<Record<string, string>>): void {
  const name = Object.keys(added).find((key) => DENIED.test(key))
  if (name !== undefined) throw fail('environment_refused', { resolver, name })
}

export interface ContainerEnvironment {
  added: Readonly<Record<string, string>>
  /** Whether the SDK is mounted. */
  hasSdk: boolean
  uid: number
  /** False for a container that only answers an inquiry. */
  hasInstance: boolean
  bundles?: readonly string[]
}

/** PATH, HOME and the like come from the image. */
export function containerEnvironment(options: ContainerEnvironment): Record<string, string> {
  const environment: Record<string, string> = { ...options.added, LANG: 'C.UTF-8' }
  // A user id that is not in the image has no home directory; any user may write to /tmp.
  if (options.uid !== RESOLVER_UID) environment['HOME'] = '/tmp'
  environment['RESOLVE_CHANNEL'] = '1'
  // SIGTERM goes to the whole process group of the resolver, not only to its first process (R26).
  environment['TINI_KILL_PROCESS_GROUP'] = '1'
  if (options.hasSdk) environment['NODE_OPTIONS'] = `--import=file://${SDK}/sdk/register.js`
  if (options.hasInstance) environment['RESOLVE_DIR'] = RESOLVE_DIRECTORY
  if (options.bundles !== undefined && options.bundles.length > 0) {
    environment['RESOLVE_BUNDLES'] = options.bundles.join(':')
  }
  return environment
}
