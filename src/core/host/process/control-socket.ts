/** Where a host listens: whoever owns this machine's home may ask it there what any consumer may (R39). */
import { randomBytes } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fail } from '../../errors.ts'

/** Takes up what connects. */
export type OnConnection = (socket: Socket) => void

/** Without one a host is asked by its own process only; that it accepts a connection still says that it lives. */
export const closedDoor: OnConnection = (socket) => {
  socket.end()
}

/** Listens on a fresh name; a name that was used once can never be bound again by chance. */
export async function listen(onConnection: OnConnection): Promise<{ path: string; close: () => void }> {
  const path = join(socketDirectory(), `${randomBytes(8).toString('hex')}.sock`)
  const open = new Set<Socket>()
  const server: Server = createServer((socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
    // Whoever only looks whether the host lives is gone again at once.
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

/** `$XDG_RUNTIME_DIR/resolve`, or a folder of our own in the temp directory: a socket's path ends at 107 bytes. */
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
