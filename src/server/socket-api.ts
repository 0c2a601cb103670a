/**
 * The API on the socket of any process that hosts instances (R39). It is loaded at the first request: most hosts never get
 * one, and a check whether a host lives sends no data.
 */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { LocalPlatform, SocketApi } from '../core/index.ts'

export const socketApi: SocketApi = (platform) => {
  let server: Promise<Server> | undefined
  return (socket) => {
    socket.once('data', (first: Buffer) => {
      socket.pause()
      server ??= openServer(platform)
      server.then(
        (ready) => handOver(ready, socket, first),
        (error: unknown) => {
          process.emitWarning(error instanceof Error ? error : String(error))
          socket.destroy()
          // The files to load were replaced by another version. This host cannot answer, so it releases its instances to one
          // that can.
          void platform.releaseAndClose()
        },
      )
    })
  }
}

async function openServer(platform: LocalPlatform): Promise<Server> {
  const [{ createServer }, { buildApp }, { ownerAccess }, { noGuard }] = await Promise.all([
    import('node:http'),
    import('./app.ts'),
    import('./access/access.ts'),
    import('./access/guard.ts'),
  ])
  const app = await buildApp({ platform, access: ownerAccess, guard: noGuard })
  await app.ready()
  return createServer((request, reply) => app.routing(request, reply))
}

function handOver(server: Server, socket: Socket, first: Buffer): void {
  socket.unshift(first)
  server.emit('connection', socket)
  socket.resume()
}
