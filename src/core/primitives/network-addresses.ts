/**
 * Which network addresses may be reached: one list for the egress proxy of workers (threats B8) and the receivers of notifications
 * (threats B13). Both check the resolved address that they then connect to.
 */
import { BlockList, isIPv4, isIPv6 } from 'node:net'

type Ranges = readonly (readonly [string, number])[]

/** Never the address of a service that is meant: reserved, link-local, multicast, metadata of clouds. */
const CLOSED_V4: Ranges = [
  ['0.0.0.0', 8],
  ['169.254.0.0', 16],
  // Oracle's metadata is at 192.0.0.192.
  ['192.0.0.0', 24],
  ['192.88.99.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  // Alibaba's metadata, in a shared range, and Azure's host agent, in a public one.
  ['100.100.100.200', 32],
  ['168.63.129.16', 32],
]

/** For documentation and measurements: no host of the internet has one; test networks use them. */
const EXAMPLE_V4: Ranges = [
  ['192.0.2.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
]

/** This machine and networks behind it: an operator's receiver is often there, and a worker must not reach it. */
const LOCAL_V4: Ranges = [
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
]

const CLOSED_V6: Ranges = [
  // IPv4-compatible, with the unspecified address; ::1 is excepted below.
  ['::', 96],
  // They stand for an IPv4 address behind a translator or a tunnel: translated, NAT64, 6to4; 2001::/23 has Teredo.
  ['::ffff:0:0:0', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['2002::', 16],
  ['2001::', 23],
  ['100::', 64],
  ['5f00::', 16],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
  // Metadata of AWS and Google.
  ['fd00:ec2::', 32],
  ['fd20:ce::', 32],
]

const EXAMPLE_V6: Ranges = [
  ['2001:db8::', 32],
  ['3fff::', 20],
]

const [closed, local, loopback6, global6] = [new BlockList(), new BlockList(), new BlockList(), new BlockList()]
const examples = new BlockList()
for (const [net, bits] of CLOSED_V4) closed.addSubnet(net, bits, 'ipv4')
for (const [net, bits] of CLOSED_V6) closed.addSubnet(net, bits, 'ipv6')
for (const [net, bits] of EXAMPLE_V4) examples.addSubnet(net, bits, 'ipv4')
for (const [net, bits] of EXAMPLE_V6) examples.addSubnet(net, bits, 'ipv6')
for (const [net, bits] of LOCAL_V4) local.addSubnet(net, bits, 'ipv4')
loopback6.addAddress('::1', 'ipv6')
global6.addSubnet('2000::', 3, 'ipv6')

/** False for addresses of local networks in any notation, and for text that is not an address. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return isReceiverAddress(address) && !local.check(address, 'ipv4')
  return isReceiverAddress(address) && global6.check(address, 'ipv6')
}

/**
 * Whether a notification may be sent there: a public address, this machine, or a private network. `address`: without brackets. A mapped
 * IPv4 address counts as itself (`BlockList` sees to it).
 */
export function isReceiverAddress(address: string): boolean {
  return isNamedAddress(address) && !examples.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
}

/**
 * Whether a host may be there that an operator named for builds: as for a notification, and in networks of tests. Never metadata, and no
 * IPv6 address that stands for an IPv4 one.
 */
export function isNamedAddress(address: string): boolean {
  if (isIPv4(address)) return !closed.check(address, 'ipv4')
  if (!isIPv6(address) || address.includes('%')) return false
  return loopback6.check(address, 'ipv6') || !closed.check(address, 'ipv6')
}
