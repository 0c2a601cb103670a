/**
 * Which addresses a worker may connect to: only public ones (threats B8). The egress proxy checks the resolved address that it
 * then connects to.
 */
import { BlockList, isIPv4, isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'

/**
 * IPv4 ranges that are not public hosts: this host, private, shared, link-local (metadata services), documentation, multicast,
 * reserved.
 */
const CLOSED_V4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
]

/**
 * IPv6 ranges within 2000::/3 that are not public hosts, or that stand for an IPv4 address. Everything outside 2000::/3 is
 * refused.
 */
const CLOSED_V6: readonly (readonly [string, number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]

const closed = new BlockList()
for (const [net, bits] of CLOSED_V4) closed.addSubnet(net, bits, 'ipv4')
for (const [net, bits] of CLOSED_V6) closed.addSubnet(net, bits, 'ipv6')
const global6 = new BlockList()
global6.addSubnet('2000::', 3, 'ipv6')

/** False for addresses of local networks in any notation, and for text that is not an address. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !closed.check(address, 'ipv4')
  if (!isIPv6(address) || address.includes('%')) return false
  return global6.check(address, 'ipv6') && !closed.check(address, 'ipv6')
}

/** Whether this machine has the address. Even a public one may reach services that only listen for local clients. */
export function isOwnAddress(address: string): boolean {
  const own = new BlockList()
  for (const infos of Object.values(networkInterfaces())) {
    for (const info of infos ?? [])
      own.addAddress(info.address.split('%')[0] as string, info.family === 'IPv4' ? 'ipv4' : 'ipv6')
  }
  return own.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
}
