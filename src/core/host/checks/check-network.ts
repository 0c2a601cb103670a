/** The network of the stages of a reality check that fetch and build: a proxy that lets only public hosts and the operator's mirrors through. The check broker opens it. */
import { CHECK_DENIALS_TOLD } from '../../limits.ts'
import type { RoomOwner } from '../../reality-check/room/containers.ts'
import type { BuildNetwork } from '../../reality-check/run/run-check.ts'
import { openCheckEgress } from '../../worker/egress/check-egress.ts'
import type { Engine } from '../../worker/engine/engine.ts'
import { NO_NETWORK } from '../../worker/sandbox-network.ts'

type Mode = 'public' | 'mirrors' | 'none'

/** Throws `check_mirrors_invalid`, `container_refused`, `docker_unreachable`. */
export async function checkNetwork(engine: Engine, owner: RoomOwner, mode: Mode): Promise<BuildNetwork> {
  if (mode === 'none') return { network: NO_NETWORK, denied: () => [], close: async () => {} }
  const denied = new Set<string>()
  const opened = await openCheckEgress(engine, {
    ...{ ...owner, mode },
    onDenied: ({ host, port }) => {
      if (denied.size < CHECK_DENIALS_TOLD) denied.add(`${host}:${port}`)
    },
  })
  const { networkMode, dns, dnsOptions, environment } = opened
  return {
    network: { mode: networkMode, dns, dnsOptions, environment },
    denied: () => [...denied],
    close: () => opened.remove(),
  }
}
