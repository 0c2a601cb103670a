/**
 * Git over HTTP by git's own CGI program, `git http-backend`: it knows every version of the protocol, compressed bodies, shallow and
 * partial clones. It gets only paths that were checked here.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { GIT_SERVER_TRANSFERS, GIT_TRANSFER_LIMIT_MS } from '../../core/limits.ts'
import type { GitService } from '../pulls/service.ts'
import { boundedCommand, gitEnvironment } from '../repository/git.ts'
import type { Repository } from '../repository/repositories.ts'
import { talkWithHooks } from './hook-talk.ts'
import { answerHook } from './push-hooks.ts'

export interface Transfer {
  repository: Repository
  /** `info/refs`, `git-upload-pack` or `git-receive-pack`. */
  action: string
  query: string
  isHost: boolean
}

const PATH = /^\/([^/]+)\/([^/]+?)(?:\.git)?\/(info\/refs|git-upload-pack|git-receive-pack)$/
const SERVICES = ['service=git-upload-pack', 'service=git-receive-pack']

/** The transfer that a path and method ask for; undefined where it is none, or the repository is unknown. Pure. */
export function transferAt(
  service: GitService,
  { method, path, query, isHost }: { method: string; path: string; query: string; isHost: boolean },
): Transfer | undefined {
  const [, , name = '', action = ''] = PATH.exec(path) ?? []
  const repository = service.repositories.find(name)
  if (repository === undefined) return undefined
  if (action === 'info/refs')
    return method === 'GET' && SERVICES.includes(query) ? { repository, action, query, isHost } : undefined
  return method === 'POST' ? { repository, action, query: '', isHost } : undefined
}

export class Transfers {
  readonly #service: GitService
  readonly #running = new Set<ChildProcess>()
  readonly #waiting: (() => void)[] = []
  #turns = GIT_SERVER_TRANSFERS

  constructor(service: GitService) {
    this.#service = service
  }

  /** Returns when the transfer is over, also where its client broke off. */
  async serve(transfer: Transfer, request: IncomingMessage, response: ServerResponse): Promise<void> {
    // The host must be able to fetch whatever the worker does.
    if (transfer.isHost) return await this.#run(transfer, request, response)
    await this.#turn()
    try {
      if (!response.destroyed) await this.#run(transfer, request, response)
    } finally {
      const next = this.#waiting.shift()
      // Handed on, the turn stays taken.
      if (next !== undefined) next()
      else this.#turns += 1
    }
  }

  async #turn(): Promise<void> {
    if (this.#turns > 0) {
      this.#turns -= 1
      return
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push(resolve)
    await promise
  }

  async #run(transfer: Transfer, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const isPush = transfer.action === 'git-receive-pack'
    const [command = 'sh', ...args] = boundedCommand(['git', 'http-backend'])
    const child = spawn(command, args, {
      cwd: transfer.repository.directory,
      env: cgiEnvironment(transfer, request),
      stdio: ['pipe', 'pipe', 'pipe', isPush ? 'pipe' : 'ignore'],
      // A group of its own: index-pack and the hooks end with it.
      detached: true,
    })
    this.#running.add(child)
    const over = Promise.withResolvers<void>()
    const limit = setTimeout(() => endGroup(child), GIT_TRANSFER_LIMIT_MS)
    let isTold = !isPush
    if (isPush) {
      talkWithHooks(child.stdio[3] as Duplex, async (hooked) => {
        isTold ||= hooked.hook === 'post-receive'
        return await answerHook(this.#service, transfer.repository, hooked, transfer.isHost)
      })
    }
    response.on('close', () => endGroup(child))
    child.stdin?.on('error', () => {})
    if (child.stdin !== null) request.pipe(child.stdin)
    request.on('error', () => endGroup(child))
    passOn(child, response)
    let words = ''
    child.stderr?.on('data', (part: Buffer) => {
      words = `${words}${part}`.slice(-2048)
    })
    child.on('error', (error) => {
      process.stderr.write(`git http-backend: ${error.message}\n`)
      over.resolve()
    })
    child.on('close', () => over.resolve())
    await over.promise
    clearTimeout(limit)
    this.#running.delete(child)
    if (words !== '' && child.exitCode !== 0) process.stderr.write(`git http-backend: ${words.trim()}\n`)
    if (!response.headersSent && !response.destroyed) response.writeHead(500)
    response.end()
    // A push that broke off may have moved refs before its hook could tell.
    if (!isTold && child.exitCode !== 0) this.#tellAll(transfer.repository)
  }

  #tellAll({ name }: Repository): void {
    this.#service.feed.tell({ kind: 'push', repo: name, ref: '*', from: null, to: null, forced: false })
  }

  /** Ends what still runs; the git programs remove their drafts and locks. */
  close(): void {
    for (const child of this.#running) endGroup(child)
  }
}

function cgiEnvironment(
  { repository, action, query, isHost }: Transfer,
  { method = 'GET', headers }: IncomingMessage,
): Record<string, string> {
  const environment: Record<string, string> = {
    ...gitEnvironment(),
    GIT_PROJECT_ROOT: repository.directory,
    GIT_HTTP_EXPORT_ALL: '1',
    PATH_INFO: `/${action}`,
    QUERY_STRING: query,
    REQUEST_METHOD: method,
    CONTENT_TYPE: headers['content-type'] ?? '',
    CONTENT_LENGTH: headers['content-length'] ?? '',
    HTTP_CONTENT_ENCODING: String(headers['content-encoding'] ?? ''),
    REMOTE_USER: 'admin',
    REMOTE_ADDR: '127.0.0.1',
    SERVER_PROTOCOL: 'HTTP/1.1',
  }
  const protocol = headers['git-protocol']
  if (typeof protocol === 'string' && /^[\w=:]{1,100}$/.test(protocol)) environment['GIT_PROTOCOL'] = protocol
  // The host itself keeps upstream's state below refs/upstream.
  if (isHost) {
    for (const [name, value] of Object.entries(environment))
      if (value === 'transfer.hideRefs') environment[name.replace('KEY', 'VALUE')] = 'refs/hidden'
  }
  return environment
}

const HEAD_MAX_BYTES = 16 * 1024

/** Reads the CGI head, then sends the body as it comes. */
function passOn(child: ChildProcess, response: ServerResponse): void {
  const { stdout } = child
  if (stdout === null) return
  let head = Buffer.alloc(0)
  const onHead = (part: Buffer): void => {
    head = Buffer.concat([head, part])
    const end = head.indexOf('\r\n\r\n')
    if (end === -1) {
      if (head.length > HEAD_MAX_BYTES) endGroup(child)
      return
    }
    stdout.off('data', onHead)
    let status = 200
    for (const line of head.toString('latin1', 0, end).split('\r\n')) {
      const at = line.indexOf(':')
      const [name, value] = [line.slice(0, at), line.slice(at + 1).trim()]
      if (/^status$/i.test(name)) status = Number.parseInt(value, 10) || 500
      else if (at > 0) response.setHeader(name, value)
    }
    response.writeHead(status)
    response.write(head.subarray(end + 4))
    stdout.pipe(response, { end: false })
  }
  stdout.on('data', onHead)
}

const KILL_AFTER_MS = 2_000

/** First a signal at which git removes its drafts and locks, then one that cannot be ignored. */
function endGroup(child: ChildProcess): void {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const group = -child.pid
  signal(group, 'SIGTERM')
  setTimeout(() => signal(group, 'SIGKILL'), KILL_AFTER_MS).unref()
}

function signal(group: number, name: NodeJS.Signals): void {
  try {
    process.kill(group, name)
  } catch {
    // It has ended.
  }
}
