/**
 * Keeps a worker on an open network from the metadata service of a cloud machine and from this machine's own addresses (threats D11,
 * WEB-3). Needs root, iptables and an engine that uses it; without them the worker gets the engine's default network (docs/containers.md,
 * The network).
 */
import { existsSync } from 'node:fs'
import { FORWARDED, iptables, isRoot, type Program, removeGuards, restore } from './iptables.ts'

/** What the operator chose: guarded; guarded, with this machine's addresses reachable; or the engine's default network. */
const CHOICES = ['guarded', 'host', 'engine'] as const
export type OpenChoice = (typeof CHOICES)[number]

/** Addresses at which cloud machines get their metadata and credentials: link-local ones, and those of Alibaba, Azure and Oracle. */
const METADATA = ['169.254.0.0/16', '100.100.100.200/32', '168.63.129.16/32', '192.0.0.192/32']
/** The bridge of an instance, in a rule or in the name of a chain. */
const BRIDGE = /(?:-i |RESOLVE-)(r[sgc][0-9a-f]{12})\b/g

/** RESOLVE_OPEN_NETWORK; a word that it does not know means the strictest choice. */
export function openChoice(env: NodeJS.ProcessEnv = process.env): OpenChoice {
  return CHOICES.find((one) => one === env['RESOLVE_OPEN_NETWORK']) ?? 'guarded'
}

/** Why open networks cannot be guarded on this machine; undefined where they can. */
export async function whyUnguarded(): Promise<string | undefined> {
  if (!isRoot()) return 'the host does not run as root'
  return await iptables('iptables', '-S', FORWARDED).then(
    () => undefined,
    () => `there is no iptables with the chain ${FORWARDED} of the engine`,
  )
}

/**
 * Adds the rules and returns whether they are in place. The rules of a guarded bridge stay in place meanwhile. `isNew`: this process has
 * just created the bridge, so there are none, and they are not looked for.
 */
export async function guardOpen(bridge: string, choice: OpenChoice, { isNew = false } = {}): Promise<boolean> {
  // The network may be on another machine than this process.
  if (!isRoot() || !existsSync(`/sys/class/net/${bridge}`)) return false
  const [isGuarded] = await Promise.all([
    guardWith('iptables', bridge, { choice, isNew }).then(
      () => true,
      () => false,
    ),
    // The network has no IPv6, only the bridge may have a link-local address. Without IPv6 no rules are needed.
    guardWith('ip6tables', bridge, { choice: 'guarded', isNew }).catch(() => undefined),
  ])
  return isGuarded
}

/** Removes the rules of networks that do not exist: their host was killed after it had removed the network. */
export async function sweepGuards(): Promise<void> {
  if (!isRoot()) return
  const listed = await iptables('iptables', '-S').catch(() => '')
  const bridges = new Set([...listed.matchAll(BRIDGE)].map(([, bridge = '']) => bridge))
  for (const bridge of bridges) {
    if (!existsSync(`/sys/class/net/${bridge}`)) await removeGuards(bridge)
  }
}

interface GuardOptions {
  choice: OpenChoice
  isNew: boolean
}

/** One change: the chains are replaced, and the rules that lead to them are added where they are missing. */
async function guardWith(program: Program, bridge: string, { choice, isNew }: GuardOptions): Promise<void> {
  const refusal = refusalChain(bridge)
  const metadata = metadataChain(bridge)
  const isV4 = program === 'iptables'
  const rules = [
    // Answers of a worker that this machine connected to.
    '-m conntrack --ctstate RELATED,ESTABLISHED -j RETURN',
    // The engine asks name servers from inside the container; on some clouds the metadata address is one.
    '-p udp -m udp --dport 53 -j RETURN',
    '-p tcp -m tcp --dport 53 -j RETURN',
    '-p tcp -j REJECT --reject-with tcp-reset',
    '-j REJECT',
  ]
  const leading = [
    `INPUT -i ${bridge} -j ${choice === 'host' ? metadata : refusal}`,
    ...(isV4 ? [`${FORWARDED} -i ${bridge} -j ${metadata}`] : []),
  ]
  const there = isNew ? '' : await iptables(program, '-S')
  const lines = new Set(there.split('\n').map((line) => line.trim()))
  await restore(program, [
    '*filter',
    `:${refusal} - [0:0]`,
    `:${metadata} - [0:0]`,
    ...rules.map((rule) => `-A ${refusal} ${rule}`),
    ...(isV4 ? METADATA.map((range) => `-A ${metadata} -d ${range} -j ${refusal}`) : []),
    ...leading.filter((rule) => !lines.has(`-A ${rule}`)).map((rule) => `-I ${rule}`),
    'COMMIT',
  ])
}

function refusalChain(bridge: string): string {
  return `RESOLVE-${bridge}`
}

function metadataChain(bridge: string): string {
  return `${refusalChain(bridge)}-M`
}
