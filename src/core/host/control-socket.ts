/** Where a host listens, and what can be asked of it there: the calls behind `answer`, `stop` and the like (R39). */
import { randomBytes } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fail } from '../errors.ts'
import type { Payload } from '../protocol/form.ts'
import type { Actor } from '../protocol/instance.ts'
import { Peer } from '../rpc/peer.ts'
import { SocketChannel } from '../rpc/socket-channel.ts'
import type { InstanceHost } from './host.ts'

/** The calls of the control socket: name → params and result. */
export interface ControlCalls {
  'host.answer': { id: string; request_id: string; payload: Payload; actor: Actor }
  'host.messageTypes': { id: string }
  'host.message': { id: string; type: string; payload: Payload; actor: Actor }
  'host.pause': { id: string }
  'host.stop': { id: string; how: 'stop' | 'cancel'; reason: string; force: boolean }
}

/** Listens on a fresh name; a name that was used once can never be bound again by chance. */
export async function listen(find: (id: string) => InstanceHost): Promise<{ path: string; close: () => void }> {
  const path = join(socketDirectory(), `${randomBytes(8).toString('hex')}.sock`)
  const open = new Set<Socket>()
  const server: Server = createServer((socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
    serve(new Peer(new SocketChannel(socket)), find)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, resolve)
  })
  chmodSync(path, 0o600)
  const close = () => {
    server.close()
    for (const socket of open) socket.destroy()
    rmSync(path, { force: true })
  }
  return { path, close }
}

function serve(peer: Peer, find: (id: string) => InstanceHost): void {
  const handle = <N extends keyof ControlCalls>(
    name: N,
    act: (host: InstanceHost, params: ControlCalls[N]) => unknown,
  ) => {
    peer.handle(name, (params) => {
      const { id } = params as ControlCalls[N]
      return act(find(id), params as ControlCalls[N])
    })
  }
  handle('host.answer', (host, { request_id, payload, actor }) => host.answer(request_id, payload, actor))
  handle('host.messageTypes', (host) => host.messageTypes())
  handle('host.message', (host, { type, payload, actor }) => host.message(type, payload, actor))
  handle('host.pause', (host) => host.pause())
  handle('host.stop', (host, { how, reason, force }) => host.stop(how, reason, force))
}

/** `$XDG_RUNTIME_DIR/resolve`, or a folder of our own in the temp directory: a socket's path ends at 107 bytes (plan). */
export function socketDirectory(env: NodeJS.ProcessEnv = process.env): string {
  const runtime = env['XDG_RUNTIME_DIR']
  const name = `resolve-${process.getuid?.() ?? 0}`
  const candidates = [...(runtime ? [join(runtime, 'resolve')] : []), join(tmpdir(), name), join('/tmp', name)]
  for (const path of candidates) {
    if (Buffer.byteLength(path) > PATH_MAX_BYTES) continue
    try {
      mkdirSync(path, { recursive: true, mode: 0o700 })
      const stat = lstatSync(path)
      const isOurs = stat.isDirectory() && stat.uid === (process.getuid?.() ?? stat.uid) && (stat.mode & 0o077) === 0
      if (isOurs) return path
    } catch {
      // The next one may do.
    }
  }
  throw fail('home_unusable', { path: candidates[0] as string, reason: 'no socket can be made there' })
}

/** 107 less the name of a socket. */
const PATH_MAX_BYTES = 84
