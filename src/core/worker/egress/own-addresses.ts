/** The addresses of this machine; {@link file://./egress-proxy.ts} refuses them to a worker, also public ones. */
import { BlockList, isIPv4 } from 'node:net'
import { networkInterfaces } from 'node:os'

/** Whether this machine has the address. Even a public one may reach services that only listen for local clients. */
export function isOwnAddress(address: string): boolean {
  const own = new BlockList()
  for (const infos of Object.values(networkInterfaces())) {
    for (const info of infos ?? [])
      own.addAddress(info.address.split('%')[0] as string, info.family === 'IPv4' ? 'ipv4' : 'ipv6')
  }
  return own.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
}
