/** Which ports of the network namespace are listened on, by /proc/net/tcp and tcp6. The validator's own are left out. */
import { readFileSync } from 'node:fs'
import { ownSockets } from './shared/own-processes.ts'

export interface ListeningPort {
  port: number
  address: string
}

const LISTEN = '0A'

export function listening(): { ports: ListeningPort[] } {
  const own = ownSockets()
  const ports = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((table) => listeningIn(tableOf(table), own))
  const unique = new Map(ports.map((one) => [`${one.address} ${one.port}`, one]))
  return { ports: [...unique.values()].sort((a, b) => a.port - b.port) }
}

/** The listening sockets of one table, without those whose inode is in `own`. Pure. */
function listeningIn(table: string, own: ReadonlySet<string>): ListeningPort[] {
  return table.split('\n').flatMap((line) => {
    const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/)
    const [address = '', port = ''] = local.split(':')
    return state === LISTEN && !own.has(inode) ? [{ port: Number.parseInt(port, 16), address: addressOf(address) }] : []
  })
}

/** The kernel prints words of 32 bits in the order of bytes of the machine, which is little-endian on all that Node 24 supports here. */
function addressOf(hex: string): string {
  const bytes = (hex.match(/.{8}/g) ?? []).flatMap((word) => (word.match(/../g) ?? []).reverse())
  if (bytes.length === 4) return bytes.map((byte) => Number.parseInt(byte, 16)).join('.')
  const groups = Array.from({ length: 8 }, (_, at) => `${bytes[at * 2]}${bytes[at * 2 + 1]}`)
  // The short form of the address.
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)
}

function tableOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // A kernel without IPv6 has no tcp6.
    return ''
  }
}
