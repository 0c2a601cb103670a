/** A TCP proxy in front of a server that cuts connections in the middle of a byte stream, as bad networks do. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface CuttingProxy {
  url: string
  /** How many connections were cut. */
  cuts: number
  /** What each connection from now on may carry to the client before it is cut; undefined: all. */
  budget: (() => number) | undefined
  /** Cuts once, after so many more bytes to the server or to the client, whichever connection they are on. */
  cutOnce(direction: 'up' | 'down', bytes: number): void
  close(): Promise<void>
}

export async function cuttingProxy(port: number): Promise<CuttingProxy> {
  const open = new Set<Socket>()
  const armed: Record<'up' | 'down', number | undefined> = { up: undefined, down: undefined }
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1')
    let left = proxy.budget?.() ?? Number.POSITIVE_INFINITY
    const cut = () => {
      proxy.cuts += 1
      client.resetAndDestroy()
      upstream.resetAndDestroy()
    }
    const carry = (direction: 'up' | 'down', to: Socket) => (chunk: Buffer) => {
      const once = armed[direction] ?? Number.POSITIVE_INFINITY
      const may = direction === 'down' ? Math.min(once, left) : once
      if (direction === 'down') left -= chunk.length
      if (armed[direction] !== undefined) armed[direction] = once - chunk.length
      if (chunk.length <= may) return void to.write(chunk)
      if (once === may) armed[direction] = undefined
      if (may === 0) return cut()
      to.write(chunk.subarray(0, may), () => setImmediate(cut))
    }
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(from)
      from.on('data', carry(from === client ? 'up' : 'down', to))
      from.on('end', () => to.end())
      from.on('error', () => to.destroy())
      from.on('close', () => {
        open.delete(from)
        to.destroy()
      })
    }
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const proxy: CuttingProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cuts: 0,
    budget: undefined,
    cutOnce: (direction, bytes) => {
      armed[direction] = bytes
    },
    close: () =>
      new Promise((done) => {
        for (const socket of open) socket.destroy()
        server.close(() => done())
      }),
  }
  return proxy
}

/** The same numbers in every run: 0 up to, and without, 1 (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
