/**
 * Blocks this machine's own ports for the network of an allowlist, except for the proxy: even an internal network reaches every port
 * that listens on all addresses of the host (threats WEB-3, D11). Needs root and iptables; without them, {@link
 * file://./network.ts} reports that the network is not guarded.
 */
import { EGRESS_PROXY_PORT } from '../../limits.ts'
import { iptables, isRoot, type Program, removeGuards } from './iptables.ts'

/** Adds the rules and returns whether they are in place. A second call changes nothing. */
export async function openGuard(bridge: string, gateway: string): Promise<boolean> {
  if (!isRoot()) return false
  try {
    await removeGuards(bridge)
    await close('iptables', bridge)
    await iptables('iptables', '-I', 'INPUT', ...opening(bridge, gateway))
  } catch {
    return false
  }
  // Without IPv6 no rules are needed.
  await close('ip6tables', bridge).catch(() => undefined)
  return true
}

/** Rejects where the kernel can, so that a connection attempt fails at once instead of timing out. */
async function close(program: Program, bridge: string): Promise<void> {
  const all = ['-I', 'INPUT', '-i', bridge, '-j']
  await iptables(program, ...all, 'REJECT').catch(() => iptables(program, ...all, 'DROP'))
}

function opening(bridge: string, gateway: string): string[] {
  return ['-i', bridge, '-d', gateway, '-p', 'tcp', '--dport', String(EGRESS_PROXY_PORT), '-j', 'ACCEPT']
}
