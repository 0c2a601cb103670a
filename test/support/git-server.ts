/**
 * Runs the git server of an instance as a process, for tests: from its source, on directories of its own. Also an upstream for tests of
 * promotion: it speaks a part of Gitea's API.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'
import { root } from '../house/source-files.ts'

export interface TestGitServer {
  baseUrl: string
  token: string
  state: string
  repos: string
  pid: number
  /** A clone URL with the token in it: only for tests. */
  cloneUrl: (repo: string) => string
  /** A request at the worker's door; `path` is below `/api/v1`. */
  api: (method: string, path: string, body?: unknown) => Promise<{ status: number; body: unknown; headers: Headers }>
  /** A request at the host's door. */
  host: (method: string, path: string, body?: unknown) => Promise<{ status: number; body: unknown }>
  /** What the server tells its host, from an offset on; ends when the caller stops reading. */
  feed: (from?: number) => AsyncGenerator<Record<string, unknown>>
  /** Adds a repository with one commit on its default branch. */
  addRepository: (name: string, files?: Readonly<Record<string, string>>, branch?: string) => Promise<void>
  kill: () => Promise<void>
  stop: () => Promise<number | null>
}

export interface TestGitServerOptions {
  /** The directory of a server that ran before. */
  state?: string
  port?: number
  token?: string
}

/** It ends with the test, and so does its directory where it made it. */
export async function startGitServer(options: TestGitServerOptions = {}): Promise<TestGitServer> {
  const state = options.state ?? mkdtempSync(join(tmpdir(), 'resolve-git-server-'))
  const token = options.token ?? 'token-of-the-instance'
  const repos = join(state, 'repos')
  mkdirSync(repos, { recursive: true })
  const digest = createHash('sha256').update(token).digest('hex')
  writeFileSync(join(state, 'tokens.json'), JSON.stringify({ sha256: [digest] }), { mode: 0o600 })
  const program = join(root, 'src', 'git-server', 'main.ts')
  const child = spawn(process.execPath, [program, '--state', state, '--listen', `127.0.0.1:${options.port ?? 0}`], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(async () => {
    await end(child, 'SIGKILL')
    if (options.state === undefined) rmSync(state, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  })
  const { base_url: baseUrl } = JSON.parse(await firstLine(child)) as { base_url: string }
  const server: TestGitServer = {
    baseUrl,
    token,
    state,
    repos,
    pid: child.pid ?? 0,
    cloneUrl: (repo) => `${baseUrl.replace('://', `://x:${token}@`)}/admin/${repo}.git`,
    api: async (method, path, body) => await callApi(`${baseUrl}/api/v1${path}`, token, method, body),
    host: async (method, path, body) => await callSocket(join(state, 's'), token, method, path, body),
    feed: (from = 0) => readFeed(join(state, 's'), token, from),
    addRepository: async (name, files = { 'README.md': `# ${name}\n` }, branch = 'main') => {
      await server.host('POST', '/host/repositories', { name, default_branch: branch })
      const work = mkdtempSync(join(tmpdir(), 'resolve-git-seed-'))
      try {
        await gitIn(work, 'init', '--quiet', `--initial-branch=${branch}`)
        await commitFiles(work, files, 'Begin')
        await gitIn(work, 'push', '--quiet', server.cloneUrl(name), `HEAD:refs/heads/${branch}`)
      } finally {
        rmSync(work, { recursive: true, force: true })
      }
    },
    kill: async () => void (await end(child, 'SIGKILL')),
    stop: async () => await end(child, 'SIGTERM'),
  }
  return server
}

/** Git with nothing of the machine's configuration, and an identity. Rejects with git's words. */
export async function gitIn(directory: string, ...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('git', args, {
    cwd: directory,
    maxBuffer: 64 * 1024 * 1024,
    env: TEST_GIT_ENVIRONMENT,
  })
  return stdout.trim()
}

export const TEST_GIT_ENVIRONMENT: NodeJS.ProcessEnv = {
  PATH: process.env['PATH'],
  LC_ALL: 'C',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.org',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.org',
}

/** Writes the files, commits them, and returns the commit. */
export async function commitFiles(
  work: string,
  files: Readonly<Record<string, string>>,
  message: string,
): Promise<string> {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(work, path, '..'), { recursive: true })
    writeFileSync(join(work, path), content)
  }
  await gitIn(work, 'add', '-A')
  await gitIn(work, 'commit', '--quiet', '--allow-empty', '-m', message)
  return await gitIn(work, 'rev-parse', 'HEAD')
}

async function firstLine(child: ChildProcess): Promise<string> {
  let words = ''
  child.stderr?.on('data', (part: Buffer) => {
    words += part
  })
  if (child.stdout === null) throw new Error('no output')
  for await (const line of createInterface({ input: child.stdout })) return line
  throw new Error(`The git server did not start: ${words}`)
}

async function callApi(url: string, token: string, method: string, body: unknown) {
  const response = await fetch(url, {
    method,
    headers: { authorization: `token ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, body: toJson(text), headers: response.headers }
}

async function callSocket(socketPath: string, token: string, method: string, path: string, body: unknown) {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: unknown }>()
  const headers = { authorization: `token ${token}`, 'content-type': 'application/json' }
  const call = request({ socketPath, method, path, headers, agent: false }, async (response) => {
    let text = ''
    for await (const part of response) text += part
    resolve({ status: response.statusCode ?? 0, body: toJson(text) })
  })
  call.on('error', reject)
  call.end(body === undefined ? '' : JSON.stringify(body))
  return await promise
}

async function* readFeed(socketPath: string, token: string, from: number): AsyncGenerator<Record<string, unknown>> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const headers = { authorization: `token ${token}` }
  const call = request({ socketPath, path: `/host/feed?from=${from}`, headers, agent: false }, resolve)
  call.on('error', reject)
  call.end()
  try {
    let rest = ''
    for await (const part of await promise) {
      const lines = (rest + part).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) yield JSON.parse(line)
    }
  } catch (error) {
    // The server ended.
    if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error
  } finally {
    call.destroy()
  }
}

function toJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
  const { promise, resolve } = Promise.withResolvers<number | null>()
  child.once('exit', resolve)
  child.kill(signal)
  return await promise
}
