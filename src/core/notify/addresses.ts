/**
 * Which addresses a notification may be sent to (threats B13). An operator's own services are often in a private network, so only
 * addresses that are never a receiver are refused: metadata services of clouds, link-local, multicast, unspecified.
 */
import { BlockList, isIPv4, isIPv6 } from 'node:net'

const closed = new BlockList()
for (const [net, bits] of [
  ['0.0.0.0', 8],
  ['169.254.0.0', 16],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  ['100.100.100.200', 32],
  ['192.0.0.192', 32],
] as const) {
  closed.addSubnet(net, bits, 'ipv4')
}
for (const [net, bits] of [
  ['::', 128],
  ['fe80::', 10],
  ['ff00::', 8],
  ['fd00:ec2::', 32],
  // They stand for an IPv4 address behind a translator.
  ['64:ff9b::', 96],
  ['2002::', 16],
] as const) {
  closed.addSubnet(net, bits, 'ipv6')
}

/** `address`: without brackets. An IPv4 address inside an IPv6 one counts as itself. */
export function isReceiverAddress(address: string): boolean {
  if (isIPv4(address)) return !closed.check(address, 'ipv4')
  if (!isIPv6(address) || address.includes('%')) return false
  return !closed.check(address, 'ipv6')
}
