/** The built validator as a process of this machine, called over its stdio as the host does. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach } from 'vitest'
import { root } from '../house/source-files.ts'

const endings: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const end of endings.splice(0)) await end()
})

interface Reply {
  id: number
  result?: unknown
  error?: { data?: { code?: string }; message: string }
}

export interface Validator {
  pid: number
  /** Throws the message of an error, with its code. */
  call<T = Record<string, unknown>>(method: string, params: object): Promise<T>
}

export function startValidator(
  command: readonly string[] = [process.execPath, join(root, 'dist', 'validator', 'main.js')],
  env: NodeJS.ProcessEnv = process.env,
): Validator {
  const [program = '', ...args] = command
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'], env })
  const waiting = new Map<number, (reply: Reply) => void>()
  let lastId = 0
  createInterface({ input: child.stdout }).on('line', (line) => {
    const reply = JSON.parse(line) as Reply
    waiting.get(reply.id)?.(reply)
  })
  endings.push(async () => {
    const gone = child.exitCode === null ? once(child, 'exit') : undefined
    child.stdin.end()
    await gone
  })
  return {
    pid: child.pid as number,
    async call<T>(method: string, params: object) {
      const id = ++lastId
      const reply = await new Promise<Reply>((resolve) => {
        waiting.set(id, resolve)
        child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
      })
      if (reply.error !== undefined) throw new Error(`${reply.error.data?.code}: ${reply.error.message}`)
      return reply.result as T
    },
  }
}

/** A server of HTTP on the loopback; ends with the test. */
export async function served(listener: RequestListener, host = '127.0.0.1'): Promise<number> {
  const server = createServer(listener)
  server.listen(0, host)
  await once(server, 'listening')
  endings.push(async () => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}
