/**
 * Creates and removes the network of an instance, from the platform's range of addresses (threats B8; docs/decisions/0008-network.md):
 * an internal one for an allowlist, in which {@link file://./egress.ts} opens the proxy, or a guarded open one. The host removes it at the
 * end of the instance.
 */
import { createHash } from 'node:crypto'
import { isIPv4 } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { NetworkInspectInfo } from 'dockerode'
import { fail } from '../../errors.ts'
import { type Engine, EngineRefusal, toRefusal } from '../engine/engine.ts'
import { removeGuards } from './iptables.ts'
import { openGuard } from './network-guard.ts'
import { guardOpen, type OpenChoice } from './open-guard.ts'

export interface InstanceNetwork {
  /** The name for a container's NetworkMode. */
  name: string
  /** The host's interface in the network. */
  bridge: string
  /** `10.201.x.y/28`. */
  subnet: string
  /** The host's address in the network. */
  gateway: string
  /** Whether its guard is in place: for an allowlist, only connections to the proxy reach the machine from it. */
  guarded: boolean
}

/** Its owner, as in the labels of the instance's containers. */
export interface NetworkOwner {
  instance: string
  /** The key of the home. */
  home: string
  /** git: the network of a worker and its git server, beside an open network or none. check: of the build of a reality check. */
  role?: NetworkRole
  /** With the role check: the check. */
  session?: string
}

/** The names of networks and of their bridges, by role. A new one: also BRIDGE of {@link file://./open-guard.ts}. */
const ROLES = {
  egress: { name: 'egress', bridge: 'rs' },
  git: { name: 'git-network', bridge: 'rg' },
  check: { name: 'check-network', bridge: 'rc' },
} as const

export type NetworkRole = keyof typeof ROLES
export const NETWORK_ROLES = Object.keys(ROLES) as NetworkRole[]

const ROLE = 'egress'
const SESSION = 'resolve.session'
const MTU = 'com.docker.network.driver.mtu'
const FIRST = '10.201'
const BLOCK = 16
const BLOCKS = 65_536 / BLOCK

/** The network of an instance with an allowlist; created where it is missing. Throws `container_refused`, `docker_unreachable`. */
export async function openNetwork(engine: Engine, owner: NetworkOwner): Promise<InstanceNetwork> {
  const networks = await listNetworks(engine)
  // An earlier check may have left programs in its network.
  if (isOfEarlierSession(networks, owner)) await removeNetwork(engine, owner)
  const network = ownIn(networks, owner) ?? (await createNetwork(engine, owner, networks, { isInternal: true }))
  return { ...network, guarded: await openGuard(network.bridge, network.gateway) }
}

/**
 * The guarded network of an instance that may reach the internet; undefined where it cannot be guarded. For an adopted worker it is not
 * created: the worker may run in the engine's default network. Throws like {@link openNetwork}.
 */
export async function openGuardedNetwork(
  engine: Engine,
  owner: NetworkOwner,
  { choice, isAdopted }: { choice: OpenChoice; isAdopted: boolean },
): Promise<InstanceNetwork | undefined> {
  const networks = await listNetworks(engine)
  const found = ownIn(networks, owner)
  if (found === undefined && isAdopted) return undefined
  const kind = { isInternal: false, mtu: engineMtu(networks) }
  const network = found ?? (await createNetwork(engine, owner, networks, kind))
  const guarded = await guardOpen(network.bridge, choice, { isNew: found === undefined })
  // An adopted worker stays where it is.
  if (guarded || isAdopted) return { ...network, guarded }
  await removeNetwork(engine, owner)
  return undefined
}

/** Removes the network and its guard, in this order: it may still be in use. Does nothing where there is none. */
export async function removeNetwork(engine: Engine, owner: NetworkOwner): Promise<void> {
  const { instance, role } = owner
  try {
    for (const { Id: id } of await listOwn(engine, instance, role)) {
      await engine.callUnless(404, (docker, abortSignal) => docker.getNetwork(id).remove({ abortSignal }))
    }
  } catch (error) {
    throw toRefusal(error, `remove the network of instance ${instance}`)
  }
  await removeGuards(bridgeOf(instance, role))
}

/** The instances of this home that have a network; the reaper uses it to find leftovers. */
export async function networkedInstances(engine: Engine, home: string, role: NetworkRole = ROLE): Promise<string[]> {
  const filters = { label: [`resolve.home=${home}`, `resolve.role=${role}`] }
  const found = await engine.call((docker, abortSignal) => docker.listNetworks({ filters, abortSignal }))
  return found.map(({ Labels: labels }) => labels?.['resolve.instance'] ?? '').filter(Boolean)
}

/** The engine's default network has the MTU that its operator set; networks of others have 1500. */
function engineMtu(networks: readonly NetworkInspectInfo[]): string | undefined {
  return networks.find(({ Name: name }) => name === 'bridge')?.Options?.[MTU]
}

interface NetworkKind {
  /** Without a way out of this machine. */
  isInternal: boolean
  mtu?: string | undefined
}

async function createNetwork(
  engine: Engine,
  owner: NetworkOwner,
  networks: readonly NetworkInspectInfo[],
  { isInternal, mtu }: NetworkKind,
): Promise<Omit<InstanceNetwork, 'guarded'>> {
  const { instance, role } = owner
  const taken = takenBlocks(networks)
  const start = createHash('sha256').update(instance).digest().readUInt16BE(0) % BLOCKS
  for (let step = 0; step < BLOCKS; step += 1) {
    const block = (start + step) % BLOCKS
    if (taken.has(block)) continue
    const { subnet, gateway } = addressesOf(block)
    const name = nameOf(instance, role)
    try {
      await engine.call((docker, abortSignal) =>
        docker.createNetwork({
          Name: name,
          CheckDuplicate: true,
          Driver: 'bridge',
          Internal: isInternal,
          EnableIPv6: false,
          IPAM: { Driver: 'default', Config: [{ Subnet: subnet, Gateway: gateway }] },
          Options: {
            'com.docker.network.bridge.name': bridgeOf(instance, role),
            ...(mtu === undefined ? {} : { [MTU]: mtu }),
          },
          Labels: {
            'resolve.home': owner.home,
            'resolve.role': role ?? ROLE,
            'resolve.instance': instance,
            ...(owner.session === undefined ? {} : { [SESSION]: owner.session }),
          },
          abortSignal,
        }),
      )
      return { name, bridge: bridgeOf(instance, role), subnet, gateway }
    } catch (error) {
      if (!(error instanceof EngineRefusal)) throw error
      // Another host took the block first, or created this very network.
      if (/overlap/i.test(error.message)) continue
      const found = error.status === 409 ? ownIn(await listNetworks(engine), owner) : undefined
      if (found !== undefined) return found
      throw toRefusal(error, `make a network for instance ${instance}`)
    }
  }
  throw fail('container_refused', {
    what: `make a network for instance ${instance}`,
    reason: `all of ${FIRST}.0.0/16 is taken`,
  })
}

function isOfEarlierSession(networks: readonly NetworkInspectInfo[], owner: NetworkOwner): boolean {
  return (
    owner.session !== undefined &&
    ownIn(networks, owner) === undefined &&
    ownIn(networks, { ...owner, session: undefined }) !== undefined
  )
}

function ownIn(
  networks: readonly NetworkInspectInfo[],
  { instance, home, role = ROLE, session }: Omit<NetworkOwner, 'session'> & { session?: string | undefined },
) {
  for (const { Name: name, Labels: labels, IPAM: ipam } of networks) {
    const { Subnet: subnet, Gateway: gateway } = ipam?.Config?.[0] ?? {}
    const isLabelled = labels?.['resolve.instance'] === instance && labels['resolve.role'] === role
    const isOfSession = session === undefined || labels?.[SESSION] === session
    const isOurs = isLabelled && isOfSession && name === nameOf(instance, role) && labels['resolve.home'] === home
    if (isOurs && subnet !== undefined && gateway !== undefined)
      return { name, bridge: bridgeOf(instance, role), subnet, gateway }
  }
  return undefined
}

/** All of the engine, in one call: each call before a start makes it later. */
async function listNetworks(engine: Engine): Promise<NetworkInspectInfo[]> {
  return await engine.call((docker, abortSignal) => docker.listNetworks({ abortSignal }))
}

async function listOwn(engine: Engine, instance: string, role: NetworkRole = ROLE) {
  const filters = { label: [`resolve.instance=${instance}`, `resolve.role=${role}`] }
  return await engine.call((docker, abortSignal) => docker.listNetworks({ filters, abortSignal }))
}

/** Blocks of the range that a network or an interface of this machine already uses. */
function takenBlocks(networks: readonly NetworkInspectInfo[]): Set<number> {
  const subnets = networks.flatMap(({ IPAM: ipam }) => (ipam?.Config ?? []).map(({ Subnet: subnet }) => subnet ?? ''))
  const own = Object.values(networkInterfaces()).flatMap((infos) => (infos ?? []).map(({ cidr }) => cidr ?? ''))
  return new Set([...subnets, ...own].flatMap(blocksIn))
}

function blocksIn(cidr: string): number[] {
  const [address = '', bits = '32'] = cidr.split('/')
  if (!isIPv4(address)) return []
  const [a, b, c = 0, d = 0] = address.split('.').map(Number)
  const size = 2 ** (32 - Number(bits))
  if (`${a}.${b}` !== FIRST) return []
  const at = c * 256 + d
  const first = Math.floor(at / Math.max(size, BLOCK)) * (Math.max(size, BLOCK) / BLOCK)
  return Array.from({ length: Math.max(1, Math.min(BLOCKS, size / BLOCK)) }, (_, index) => first + index)
}

function addressesOf(block: number): { subnet: string; gateway: string } {
  const at = block * BLOCK
  const net = `${FIRST}.${Math.floor(at / 256)}`
  return { subnet: `${net}.${at % 256}/28`, gateway: `${net}.${(at % 256) + 1}` }
}

/** Whether an address is in the subnet. */
export function isInSubnet(address: string, subnet: string): boolean {
  return isIPv4(address) && blocksIn(`${address}/32`)[0] === blocksIn(subnet)[0] && address.startsWith(`${FIRST}.`)
}

function nameOf(instance: string, role: NetworkRole = ROLE): string {
  return `resolve-${instance}-${ROLES[role].name}`
}

/** The kernel limits interface names to 15 characters. */
function bridgeOf(instance: string, role: NetworkRole = ROLE): string {
  return `${ROLES[role].bridge}${instance}`.slice(0, 15)
}
