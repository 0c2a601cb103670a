/** What a worker's network takes on the side of the host: its network, its proxy, and what its container is told (docs/manifest.md, The network). */
import { setTimeout as sleep } from 'node:timers/promises'
import { fail, systemCode } from '../../errors.ts'
import { EGRESS_PROXY_PORT, EGRESS_TAKEOVER_LIMIT_MS } from '../../limits.ts'
import type { Network } from '../../protocol/egress.ts'
import type { Engine } from '../engine/engine.ts'
import type { EgressOptions, EgressProxy } from './egress-proxy.ts'
import { isInSubnet, type NetworkOwner, openNetwork } from './network.ts'

export interface EgressPlan extends NetworkOwner, Pick<EgressOptions, 'onDenied' | 'resolve' | 'mayReach'> {
  network: Network
  /** The rules of an allowlist. */
  egress: readonly string[]
}

export interface Egress {
  /** For HostConfig.NetworkMode. */
  networkMode: string
  /** For HostConfig.Dns: nothing answers there. */
  dns: string[]
  /** For HostConfig.DnsOptions: a program that asks all the same is told soon. */
  dnsOptions: string[]
  /** To be added to the container's environment. */
  environment: Record<string, string>
  /** Whether the machine itself is closed to the worker as well; null where its network is not ours. */
  guarded: boolean | null
  /** Ends the proxy; the network stays for the next host, until `removeNetwork`. */
  close(): Promise<void>
}

/**
 * Opens the worker's way out, or opens it again for a worker that is adopted: its addresses stay what they were.
 * Throws `container_refused`, `docker_unreachable`.
 */
export async function openEgress(engine: Engine, plan: EgressPlan): Promise<Egress> {
  if (plan.network !== 'allowlist') {
    const networkMode = plan.network === 'none' ? 'none' : 'bridge'
    return { networkMode, dns: [], dnsOptions: [], environment: {}, guarded: null, close: async () => undefined }
  }
  const { name, gateway, subnet, guarded } = await openNetwork(engine, plan)
  const { egress: rules, onDenied, resolve, mayReach } = plan
  const proxy = await openRetrying({
    rules,
    onDenied,
    address: gateway,
    port: EGRESS_PROXY_PORT,
    // Every container of this machine reaches the address; only this worker's may use it.
    admits: (address) => isInSubnet(address, subnet),
    ...(resolve === undefined ? {} : { resolve }),
    ...(mayReach === undefined ? {} : { mayReach }),
  })
  return {
    networkMode: name,
    dns: [gateway],
    dnsOptions: ['timeout:1', 'attempts:1'],
    environment: proxyEnvironment(`http://${gateway}:${EGRESS_PROXY_PORT}`),
    guarded,
    close: () => proxy.close(),
  }
}

/** An earlier host may be letting go of the port just now. */
async function openRetrying(options: EgressOptions): Promise<EgressProxy> {
  // Node's http, with all it brings, is for who has an allowlist: every command loads this file.
  const { openEgressProxy } = await import('./egress-proxy.ts')
  const deadline = Date.now() + EGRESS_TAKEOVER_LIMIT_MS
  for (;;) {
    try {
      return await openEgressProxy(options)
    } catch (error) {
      const code = systemCode(error)
      const mayPass = code === 'EADDRINUSE' || code === 'EADDRNOTAVAIL'
      if (!mayPass || Date.now() > deadline) {
        const what = `open the way out at ${options.address}:${options.port}`
        throw fail('container_refused', { what, reason: code ?? String(error) }, { cause: error })
      }
    }
    await sleep(RETRY_MS)
  }
}

/** Both spellings: programs disagree. Node itself heeds them when it is told to. */
function proxyEnvironment(proxy: string): Record<string, string> {
  const own = 'localhost,127.0.0.1,::1'
  return {
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
    NO_PROXY: own,
    http_proxy: proxy,
    https_proxy: proxy,
    no_proxy: own,
    NODE_USE_ENV_PROXY: '1',
  }
}

const RETRY_MS = 100
