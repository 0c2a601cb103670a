/**
 * Sets up the egress of a worker on the host: its network, its proxy, and the settings of its container (docs/manifest.md, The
 * network).
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { fail, systemCode } from '../../errors.ts'
import { EGRESS_PROXY_PORT, EGRESS_TAKEOVER_LIMIT_MS } from '../../limits.ts'
import type { Network } from '../../protocol/egress.ts'
import type { Engine } from '../engine/engine.ts'
import type { EgressOptions, EgressProxy } from './egress-proxy.ts'
import { isInSubnet, type NetworkOwner, openGuardedNetwork, openNetwork } from './network.ts'
import { openChoice, whyUnguarded } from './open-guard.ts'

/** What the proxy is given as it is. */
type ProxyOption = 'onDenied' | 'resolve' | 'mayReach' | 'publicHosts' | 'mirrors' | 'answers'

export interface EgressPlan extends NetworkOwner, Pick<EgressOptions, ProxyOption> {
  network: Network
  /** The rules of an allowlist. */
  egress: readonly string[]
  /** Whether the worker runs already. */
  isAdopted?: boolean
}

export interface Egress {
  /** The value of HostConfig.NetworkMode. */
  networkMode: string
  /** The value of HostConfig.Dns: no name server answers there. */
  dns: string[]
  /** The value of HostConfig.DnsOptions: lookups that try it fail soon. */
  dnsOptions: string[]
  /** Variables to add to the container's environment. */
  environment: Record<string, string>
  /** Whether the worker is also kept from this machine's own ports; null where the engine's default network, or none, is used. */
  guarded: boolean | null
  /** Stops the proxy. The network stays for the next host, until `removeNetwork`. */
  close(): Promise<void>
}

/**
 * Opens the egress of a worker, or opens it again for an adopted one: its addresses stay the same. Throws `container_refused`,
 * `docker_unreachable`.
 */
export async function openEgress(engine: Engine, plan: EgressPlan): Promise<Egress> {
  if (plan.network === 'none') return plainEgress('none', null)
  if (plan.network === 'open') return await openToAll(engine, plan)
  const { name, gateway, subnet, guarded } = await openNetwork(engine, plan)
  const { egress: rules, onDenied, resolve, mayReach, publicHosts = false, mirrors = [], answers = 'sentence' } = plan
  const proxy = await openRetrying({
    rules,
    onDenied,
    publicHosts,
    mirrors,
    answers,
    address: gateway,
    port: EGRESS_PROXY_PORT,
    // Every container of this machine can reach the address; only this worker's connections are accepted.
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

/** A network of its own, guarded; the engine's default network where it cannot be guarded or the operator wants that. */
async function openToAll(engine: Engine, { instance, home, isAdopted = false }: EgressPlan): Promise<Egress> {
  const choice = openChoice()
  const mayGuard = choice !== 'engine' && (await mayBeGuarded())
  if (!mayGuard && !isAdopted) return plainEgress('bridge', null)
  const network = await openGuardedNetwork(engine, { instance, home }, { choice, isAdopted })
  return network === undefined ? plainEgress('bridge', null) : plainEgress(network.name, network.guarded)
}

let wasGuardable = false

/** A machine that could once is not asked again: where the rules are refused then, the network is removed. */
async function mayBeGuarded(): Promise<boolean> {
  wasGuardable ||= (await whyUnguarded()) === undefined
  return wasGuardable
}

/** Without a proxy of the platform. */
function plainEgress(networkMode: string, guarded: boolean | null): Egress {
  return { networkMode, dns: [], dnsOptions: [], environment: {}, guarded, close: async () => undefined }
}

/** An earlier host may still hold the port. */
async function openRetrying(options: EgressOptions): Promise<EgressProxy> {
  // Loaded late, because only an allowlist needs Node's http and every command loads this file.
  const { openEgressProxy } = await import('./egress-proxy.ts')
  const deadline = Date.now() + EGRESS_TAKEOVER_LIMIT_MS
  for (;;) {
    try {
      return await openEgressProxy(options)
    } catch (error) {
      const code = systemCode(error)
      const mayPass = code === 'EADDRINUSE' || code === 'EADDRNOTAVAIL'
      if (!mayPass || Date.now() > deadline) {
        const what = `open the egress proxy at ${options.address}:${options.port}`
        throw fail('container_refused', { what, reason: code ?? String(error) }, { cause: error })
      }
    }
    await sleep(RETRY_MS)
  }
}

/** Both spellings, because programs differ. Node uses them only when a variable says so. */
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
