/**
 * A git host for tests: bare repositories served by `git http-backend` on a loopback port, with an optional token and the list
 * of the requests that it got. Only git of this machine answers; nothing of the code under test.
 */
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

export interface UpstreamRequest {
  method: string
  path: string
  authorization: string | undefined
}

export interface GitUpstream {
  /** `http://127.0.0.1:<port>` */
  base: string
  /** The directory of the bare repositories. */
  root: string
  requests: UpstreamRequest[]
  /** `<base>/<name>.git`, for a name such as `org/repo`. */
  urlOf(name: string): string
  /** Where the bare repository lies; for tests that push by path or look into it. */
  pathOf(name: string): string
  /** Makes a bare repository; `files` become its first commit on `main`. Without files it is empty. */
  create(name: string, files?: Readonly<Record<string, string>>): string
  /** Adds a commit to a branch (made from `main` or with no parent where it does not exist); returns the commit's id. */
  commit(name: string, files: Readonly<Record<string, string>>, branch?: string): string
  /** Runs git in the bare repository and returns what it prints, trimmed. */
  git(name: string, ...args: string[]): string
  close(): Promise<void>
}

export interface UpstreamOptions {
  /** Requests must carry it, as Basic password or Bearer; else 401. */
  token?: string
  /** Sees every request first; true means that it has answered. */
  intercept?: (request: IncomingMessage, response: ServerResponse) => boolean
}

const IDENTITY = {
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.org',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.org',
  GIT_AUTHOR_DATE: '2026-01-02T03:04:05Z',
  GIT_COMMITTER_DATE: '2026-01-02T03:04:05Z',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
}

/** Runs git without the configuration of this machine's user; returns what it prints, trimmed. */
export function gitText(cwd: string, args: readonly string[], input?: string): string {
  const env = { PATH: process.env['PATH'], HOME: cwd, ...IDENTITY }
  return execFileSync('git', args, { cwd, env, input, stdio: ['pipe', 'pipe', 'pipe'] })
    .toString()
    .trim()
}

export async function openUpstream(options: UpstreamOptions = {}): Promise<GitUpstream> {
  const root = mkdtempSync(join(tmpdir(), 'git-upstream-'))
  const requests: UpstreamRequest[] = []
  const server = createServer((request, response) => {
    const path = request.url ?? '/'
    const { authorization } = request.headers
    requests.push({ method: request.method ?? '', path, authorization })
    if (options.intercept?.(request, response)) return
    if (options.token !== undefined && !carries(authorization, options.token)) {
      response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="git"' }).end('no')
      return
    }
    answer(root, request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const pathOf = (name: string) => join(root, `${name}.git`)
  const git = (name: string, ...args: string[]) => gitText(pathOf(name), args)
  const upstream: GitUpstream = {
    base,
    root,
    requests,
    pathOf,
    git,
    urlOf: (name) => `${base}/${name}.git`,
    create(name, files) {
      mkdirSync(dirname(pathOf(name)), { recursive: true })
      gitText(root, ['init', '--quiet', '--bare', '--initial-branch=main', pathOf(name)])
      gitText(pathOf(name), ['config', 'http.receivepack', 'true'])
      if (files !== undefined) upstream.commit(name, files)
      return upstream.urlOf(name)
    },
    commit(name, files, branch = 'main') {
      const path = pathOf(name)
      const parent = tipOf(path, `refs/heads/${branch}`) ?? tipOf(path, 'refs/heads/main')
      gitText(path, ['read-tree', ...(parent === undefined ? ['--empty'] : [parent])])
      for (const [file, text] of Object.entries(files)) {
        const blob = gitText(path, ['hash-object', '-w', '--stdin'], text)
        gitText(path, ['update-index', '--add', '--cacheinfo', `100644,${blob},${file}`])
      }
      const tree = gitText(path, ['write-tree'])
      const parents = parent === undefined ? [] : ['-p', parent]
      const commit = gitText(path, ['commit-tree', tree, ...parents, '-m', `Change ${Object.keys(files).join(', ')}`])
      gitText(path, ['update-ref', `refs/heads/${branch}`, commit])
      return commit
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      rmSync(root, { recursive: true, force: true })
    },
  }
  return upstream
}

function tipOf(path: string, ref: string): string | undefined {
  const tip = gitText(path, ['for-each-ref', '--format=%(objectname)', ref])
  return tip === '' ? undefined : tip
}

function carries(authorization: string | undefined, token: string): boolean {
  const [kind, value = ''] = (authorization ?? '').split(' ')
  if (kind !== 'Basic') return value === token
  return Buffer.from(value, 'base64').toString().split(':').slice(1).join(':') === token
}

/** One CGI call of `git http-backend`. */
function answer(root: string, request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? '/', 'http://upstream')
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env['PATH'],
      ...IDENTITY,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: decodeURIComponent(url.pathname),
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      REMOTE_USER: 'upstream',
      REMOTE_ADDR: '127.0.0.1',
      GIT_CONFIG_COUNT: '3',
      GIT_CONFIG_KEY_0: 'safe.directory',
      GIT_CONFIG_VALUE_0: '*',
      GIT_CONFIG_KEY_1: 'uploadpack.allowAnySHA1InWant',
      GIT_CONFIG_VALUE_1: 'true',
      GIT_CONFIG_KEY_2: 'uploadpack.allowFilter',
      GIT_CONFIG_VALUE_2: 'true',
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  response.on('close', () => child.kill('SIGKILL'))
  child.stdin.on('error', () => {})
  request.pipe(child.stdin)
  let head = Buffer.alloc(0)
  let isBody = false
  child.stdout.on('data', (chunk: Buffer) => {
    if (isBody) return void response.write(chunk)
    head = Buffer.concat([head, chunk])
    const end = head.indexOf('\r\n\r\n')
    if (end === -1) return
    isBody = true
    let status = 200
    for (const line of head.subarray(0, end).toString().split('\r\n')) {
      const [name = '', ...rest] = line.split(': ')
      if (name.toLowerCase() === 'status') status = Number.parseInt(rest.join(': '), 10)
      else response.setHeader(name, rest.join(': '))
    }
    response.writeHead(status)
    response.write(head.subarray(end + 4))
  })
  child.stdout.on('end', () => response.end())
}
