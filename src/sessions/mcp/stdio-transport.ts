/**
 * An MCP server that is a program of this worker: a message a line on its stdin and stdout. What it sends is bounded. It carries a mark of its
 * session, so that its end takes everything along that it started. {@link file://./connection.ts} starts it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { JSONRPCMessage, MCPTransport } from '@ai-sdk/mcp'
import { fail } from '../../core/errors.ts'
import {
  MCP_CLOSE_MS,
  MCP_MESSAGE_MAX_BYTES,
  MCP_NOISE_LINES_MAX,
  MCP_STDERR_TAIL_BYTES,
  MCP_UNASKED_MAX_BYTES,
  TOOL_SHELL_DRAIN_MS,
} from '../../core/limits.ts'
import { isObject } from '../../core/primitives/is-object.ts'
import type { McpProgram } from '../contract/contract.ts'
import { CALL_MARK, ownHelperMark } from '../guardian/processes.ts'
import { endCommand } from '../tools/run-command.ts'

export interface StdioOptions {
  /** The name of the server. */
  name: string
  program: McpProgram
  cwd: string
  resolveDir: string
  /** Unique in the worker. */
  mark: string
  /** Called when nothing of it is left. */
  onEnd: () => void
}

const LF = 0x0a

export class StdioTransport implements MCPTransport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  /** Why it was ended from here. */
  problem: string | undefined
  readonly #options: StdioOptions
  #child: ChildProcess | undefined
  #held: Buffer[] = []
  #heldBytes = 0
  /** Bytes since it answered a call. */
  #unasked = 0
  #noise = 0
  #stderr: Buffer = Buffer.alloc(0)
  #hasExited = false
  #closing: Promise<void> | undefined

  constructor(options: StdioOptions) {
    this.#options = options
  }

  get isClosed(): boolean {
    return this.#closing !== undefined || this.#hasExited
  }

  /** The end of what it wrote to stderr, for the message that it could not be started. */
  get lastWords(): string {
    return this.#stderr.toString('utf8').trim()
  }

  /** Rejects where the program can't be started. */
  start(): Promise<void> {
    const { program, cwd, resolveDir, mark } = this.#options
    const { command, args = [], env = {} } = program
    const child = spawn(command, [...args], {
      cwd,
      env: { ...shortEnvironment(), ...env, ...ownHelperMark(), RESOLVE_DIR: resolveDir, [CALL_MARK]: mark },
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    this.#child = child
    // A server never holds the process of the resolver.
    child.unref()
    for (const stream of [child.stdin, child.stdout, child.stderr]) {
      ;(stream as Socket).unref()
      stream.on('error', () => {})
    }
    child.stdout.on('data', (chunk: Buffer) => this.#take(chunk))
    child.stderr.on('data', (chunk: Buffer) => {
      this.#stderr = Buffer.concat([this.#stderr, chunk.subarray(-MCP_STDERR_TAIL_BYTES)]).subarray(
        -MCP_STDERR_TAIL_BYTES,
      )
    })
    child.once('exit', () => void this.#exited())
    child.once('error', ({ message }) => {
      this.#hasExited = true
      this.problem ??= message
    })
    return new Promise((resolve, reject) => {
      child.once('spawn', resolve)
      child.once('error', reject)
    })
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin
    if (stdin === null || stdin === undefined || this.isClosed) {
      const detail = this.problem ?? 'it has ended'
      throw fail('mcp_server_failed', { server: this.#options.name, detail })
    }
    stdin.write(`${JSON.stringify(message)}\n`)
    // It sends requests, and reads none of the answers.
    if (stdin.writableLength > MCP_MESSAGE_MAX_BYTES) this.#fault('reads nothing of what it is sent')
  }

  /** Ends it with everything that it started: closes its input, and waits a while. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const { resolveDir, mark, onEnd } = this.#options
    const child = this.#child
    child?.stdin?.end()
    for (
      const until = Date.now() + MCP_CLOSE_MS;
      Date.now() < until && !this.#hasExited && this.problem === undefined;
    )
      await sleep(LOOK_MS)
    await endCommand(this.#hasExited ? undefined : child?.pid, mark, resolveDir)
    for (const stream of [child?.stdin, child?.stdout, child?.stderr]) stream?.destroy()
    onEnd()
    this.onclose?.()
  }

  /** Ends it at once. */
  end(problem: string): Promise<void> {
    this.problem ??= problem
    return this.close()
  }

  /** It ended by itself. What it printed last is still in the pipe. */
  async #exited(): Promise<void> {
    this.#hasExited = true
    await sleep(TOOL_SHELL_DRAIN_MS)
    await this.close()
  }

  #fault(problem: string): void {
    void this.end(`it ${problem}`)
  }

  #take(chunk: Buffer): void {
    if (this.problem !== undefined) return
    this.#unasked += chunk.length
    if (this.#unasked > MCP_UNASKED_MAX_BYTES) {
      this.#fault(`sent more than ${MCP_UNASKED_MAX_BYTES} bytes that answer nothing`)
      return
    }
    let start = 0
    for (let at = chunk.indexOf(LF); at !== -1 && this.problem === undefined; at = chunk.indexOf(LF, start)) {
      this.#held.push(chunk.subarray(start, at))
      const line = Buffer.concat(this.#held).toString('utf8')
      this.#held = []
      this.#heldBytes = 0
      start = at + 1
      this.#read(line)
    }
    const rest = chunk.subarray(start)
    this.#held.push(rest)
    this.#heldBytes += rest.length
    if (this.#heldBytes > MCP_MESSAGE_MAX_BYTES) {
      this.#held = []
      this.#fault(`sent a message of more than ${MCP_MESSAGE_MAX_BYTES} bytes`)
    }
  }

  #read(line: string): void {
    if (line.trim() === '') return
    try {
      const message: unknown = JSON.parse(line)
      if (isObject(message)) {
        if (!('method' in message)) this.#unasked = 0
        // An answer to no call throws.
        this.onmessage?.(message as unknown as JSONRPCMessage)
        return
      }
    } catch {
      // No JSON.
    }
    this.#hearNoise()
  }

  /** Programs print what is no message, too. */
  #hearNoise(): void {
    this.#noise += 1
    if (this.#noise > MCP_NOISE_LINES_MAX)
      this.#fault(`sent more than ${MCP_NOISE_LINES_MAX} lines that are no messages`)
  }
}

const LOOK_MS = 20

/** What programs need to run and to reach the network. Nothing of the platform, and no secret. */
function shortEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    NAMES.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  )
}

const NAMES = [
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy', 'NODE_USE_ENV_PROXY'],
  ...['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR'],
]
