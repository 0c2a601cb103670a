/**
 * Hosts outside of this machine, for tests of networks: a network namespace behind a router, with a public address and an address like
 * that of a metadata service. Needs root.
 */
import { execFileSync, spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'

export interface Outside {
  /** A public address: for documentation, so that it is no other's. */
  address: string
  /** A link-local address other than that of any real service. */
  metadata: string
  /** Where both answer `hello`. */
  port: number
  /** An address of this machine with a name server on port 53, which gives every name the public address. */
  nameServer: string
  close(): Promise<void>
}

const ADDRESS = '198.51.100.2'
const ROUTER = '198.51.100.1'
const METADATA = '169.254.213.7'
const PORT = 8080

export async function openOutside(): Promise<Outside> {
  const namespace = `rst-${process.pid}`
  const link = `rst${process.pid}`
  const ip = (...words: string[]) => execFileSync('ip', words, { stdio: 'pipe' })
  const inside = (...words: string[]) => ip('-n', namespace, ...words)
  ip('netns', 'add', namespace)
  ip('link', 'add', link, 'type', 'veth', 'peer', 'name', 'out0', 'netns', namespace)
  ip('address', 'add', `${ROUTER}/24`, 'dev', link)
  ip('link', 'set', link, 'up')
  ip('route', 'add', `${METADATA}/32`, 'via', ADDRESS)
  inside('address', 'add', `${ADDRESS}/24`, 'dev', 'out0')
  inside('address', 'add', `${METADATA}/32`, 'dev', 'out0')
  inside('link', 'set', 'out0', 'up')
  inside('route', 'add', 'default', 'via', ROUTER)
  const program = `require('node:http').createServer((_, r) => r.end('hello')).listen(${PORT}, () => console.log('up'))`
  const web = spawn('ip', ['netns', 'exec', namespace, process.execPath, '-e', program])
  await once(web.stdout, 'data')
  const names = createSocket('udp4')
  names.on('message', (query, { address, port }) => names.send(answerTo(query), port, address))
  names.bind(53, ROUTER)
  await once(names, 'listening')
  return {
    address: ADDRESS,
    metadata: METADATA,
    port: PORT,
    nameServer: ROUTER,
    close: async () => {
      names.close()
      web.kill('SIGKILL')
      await once(web, 'exit')
      ip('netns', 'delete', namespace)
    },
  }
}

/** A DNS answer: the public address for a query of type A, else no record. */
function answerTo(query: Buffer): Buffer {
  const end = query.indexOf(0, 12) + 5
  const isA = query.readUInt16BE(end - 4) === 1
  const head = Buffer.from(query.subarray(0, 12))
  head.writeUInt16BE(0x8180, 2)
  head.writeUInt16BE(isA ? 1 : 0, 6)
  head.writeUInt32BE(0, 8)
  const record = Buffer.from([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, ...ADDRESS.split('.').map(Number)])
  return Buffer.concat([head, query.subarray(12, end), ...(isA ? [record] : [])])
}
