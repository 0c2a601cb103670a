/** `resolve serve` as a process: started, asked over HTTP, signalled, killed. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const program = join(import.meta.dirname, '..', '..', 'bin', 'run.js')

export interface ServeProcess {
  pid: number
  url: string
  link: string
  stdout(): string
  stderr(): string
  kill(signal: NodeJS.Signals): void
  /** Exit code, or the signal that ended it. */
  ended: Promise<number | NodeJS.Signals>
  /** Resolves once stderr has it. */
  said(part: string): Promise<void>
}

/** Resolves once it answers; rejects with what it said where it ends before. */
export async function startServe(
  home: string,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<ServeProcess> {
  const started = spawnServe(home, args.includes('--port') ? args : ['--port', '0', ...args], env)
  const isUp = () => /^http\S+\n/.test(started.stdout()) && started.stderr().includes('#code=')
  while (!isUp()) {
    const code = await Promise.race([started.ended, started.news()])
    if (code !== undefined) throw new Error(`serve ended with ${code}: ${started.stderr()}`)
  }
  const url = started.stdout().trim()
  const link = /http\S+#code=\S+/.exec(started.stderr())?.[0] ?? ''
  return { ...started, url, link }
}

export function spawnServe(home: string, args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [program, 'serve', ...args], {
    cwd: tmpdir(),
    env: { ...process.env, CI: '', NO_COLOR: '', RESOLVE_HOME: home, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const heard = { stdout: '', stderr: '' }
  child.stdout.on('data', (bytes) => {
    heard.stdout += bytes
  })
  child.stderr.on('data', (bytes) => {
    heard.stderr += bytes
  })
  const news = async (): Promise<undefined> => {
    await Promise.race([once(child.stdout, 'data'), once(child.stderr, 'data')])
  }
  return {
    pid: child.pid ?? 0,
    news,
    stdout: () => heard.stdout,
    stderr: () => heard.stderr,
    kill: (signal: NodeJS.Signals) => void child.kill(signal),
    ended: once(child, 'close').then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals),
    async said(part: string) {
      while (!heard.stderr.includes(part)) await news()
    },
  }
}

/** Signs in with the link, as the page does. */
export async function signIn({ url, link }: Pick<ServeProcess, 'url' | 'link'>): Promise<Response> {
  return await fetch(`${url}/api/auth/verify`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code: link.split('#code=')[1] }),
  })
}

/** Calls the API with a token. */
export function client(url: string, token: string) {
  return async (method: string, path: string, body?: unknown): Promise<{ status: number; body: never }> => {
    const response = await fetch(`${url}/api${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return {
      status: response.status,
      body: (text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text) as never,
    }
  }
}
