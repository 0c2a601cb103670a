/**
 * Closes connections so that the client sees the answer (RFC 9112, 9.6): `listen` calls it for its server. A request that was refused before its
 * body was read leaves bytes in the socket. If the socket were destroyed at once, the kernel would reset the connection and the client,
 * which still sends, might lose the answer. So the server ends its half and discards what comes, for a limited time.
 */
import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'

/** Returns a function that is called with each request: false where its connection is being closed, so it must not be answered. */
export function lingerOnClose(server: Server, limitMs: number): (request: IncomingMessage) => boolean {
  const current = new WeakMap<Socket, IncomingMessage>()
  const closing = new WeakSet<Socket>()
  server.on('connection', (socket: Socket) => {
    const destroySoon = socket.destroySoon.bind(socket)
    // node:http calls this when the last answer of a connection is written.
    socket.destroySoon = () => {
      const request = current.get(socket)
      if (request === undefined || request.complete || closing.has(socket)) return destroySoon()
      closing.add(socket)
      const limit = setTimeout(() => socket.destroy(), limitMs).unref()
      socket.once('close', () => clearTimeout(limit))
      socket.end()
      request.once('end', destroySoon)
      request.resume()
    }
  })
  return (request) => {
    if (closing.has(request.socket)) return false
    current.set(request.socket, request)
    return true
  }
}
