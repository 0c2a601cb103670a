/**
 * The unix socket of a host process: other processes of the same user send it API requests, and see from it that the host lives
 * (R39).
 */
import { randomBytes } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fail } from '../../errors.ts'

/** Handles a connection. */
export type OnConnection = (socket: Socket) => void

/** Without a handler only this process can reach its instances; that the socket accepts still shows that the host lives. */
export const refuseRequests: OnConnection = (socket) => {
  socket.end()
}

/** Listens on a fresh name, so that a later host never binds the name of a dead one by chance. */
export async function listen(onConnection: OnConnection, home?: string): Promise<{ path: string; close: () => void }> {
  const path = join(socketDirectory(process.env, home), `${randomBytes(8).toString('hex')}.sock`)
  const open = new Set<Socket>()
  const server: Server = createServer((socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
    // A connection that only tests whether the host lives closes at once.
    socket.on('error', () => socket.destroy())
    onConnection(socket)
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

/**
 * `$XDG_RUNTIME_DIR/resolve`, or a private folder in the temp directory; where another user took those names, a folder of the home: the
 * path of a socket has at most 107 bytes. Where that is too long, a new folder in /tmp, whose name another user cannot know before.
 */
export function socketDirectory(env: NodeJS.ProcessEnv = process.env, home?: string): string {
  const runtime = env['XDG_RUNTIME_DIR']
  const name = `resolve-${process.getuid?.() ?? 0}`
  const candidates = [
    ...(runtime ? [join(runtime, 'resolve')] : []),
    join(tmpdir(), name),
    join('/tmp', name),
    ...(home === undefined ? [] : [join(home, 'sockets')]),
  ]
  for (const path of candidates) {
    if (Buffer.byteLength(path) > PATH_MAX_BYTES) continue
    try {
      mkdirSync(path, { recursive: true, mode: 0o700 })
      const stat = lstatSync(path)
      const isOurs = stat.isDirectory() && stat.uid === (process.getuid?.() ?? stat.uid) && (stat.mode & 0o077) === 0
      if (isOurs) return path
    } catch {
      // The next candidate may work.
    }
  }
  try {
    return mkdtempSync(join('/tmp', `${name}-`))
  } catch (error) {
    throw fail('home_unusable', { path: home ?? '/tmp', reason: 'no socket can be made there' }, { cause: error })
  }
}

/** 107 bytes less the length of a socket's name. */
const PATH_MAX_BYTES = 84
