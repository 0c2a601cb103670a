/** The network of the stages of a reality check that fetch and build; the check broker opens it. */
import { fail } from '../../errors.ts'
import type { RoomOwner } from '../../reality-check/room/containers.ts'
import type { BuildNetwork } from '../../reality-check/run/run-check.ts'
import type { Engine } from '../../worker/engine/engine.ts'
import { NO_NETWORK } from '../../worker/sandbox-network.ts'

type Mode = 'public' | 'mirrors' | 'none'

/** Throws `container_refused`, `docker_unreachable`, `check_unavailable`. */
export async function checkNetwork(_engine: Engine, _owner: RoomOwner, mode: Mode): Promise<BuildNetwork> {
  if (mode === 'none') return { network: NO_NETWORK, denied: () => [], close: async () => {} }
  throw fail('check_unavailable', { reason: `the network "${mode}" of a build` })
}
