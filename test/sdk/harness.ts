/** Starts a real resolver process and plays its host: JSON-RPC lines on pipes, and the files of a temporary `.resolve`. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { buildSync } from 'esbuild'
import { afterAll, onTestFinished } from 'vitest'
import type { EventEnvelope } from '../../src/core/protocol/event.ts'
import type { InstanceConfig } from '../../src/core/protocol/instance.ts'

export const INSTANCE_ID = '0123456789ab'
const WAIT_LIMIT_MS = 30_000

const root = fileURLToPath(new URL('../..', import.meta.url))

export const fixture = (name: string) => join(root, 'test/fixtures/resolvers', name)
export const sample = (name: string) => join(root, 'test/sdk/resolvers', `${name}.ts`)

let built: string | undefined

afterAll(() => {
  if (built !== undefined) rmSync(built, { recursive: true, force: true })
})

/** The SDK and the built-in resolvers as they are shipped: bundled, in a directory of their own. */
export function builtSdk(): string {
  if (built !== undefined) return built
  built = mkdtempSync(join(tmpdir(), 'resolve-sdk-'))
  const entryPoints = ['sdk/index.ts', 'sdk/register.ts', 'resolvers/hello/resolver.ts', 'resolvers/tour/resolver.ts']
  buildSync({
    entryPoints: entryPoints.map((entry) => join(root, 'src', entry)),
    outbase: join(root, 'src'),
    outdir: built,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    logLevel: 'error',
  })
  for (const name of ['hello', 'tour']) {
    writeFileSync(
      join(built, 'resolvers', name, 'manifest.json'),
      readFileSync(join(root, 'src/resolvers', name, 'manifest.json')),
    )
  }
  return built
}

export interface LaunchOptions {
  /** The resolver's program and its arguments. */
  command: string[]
  cwd?: string
  name: string
  params?: Record<string, unknown>
  secretFields?: string[]
  /** The `.resolve` of an earlier process, for a resume. */
  dir?: string
  env?: Record<string, string>
}

export interface Reply {
  result?: unknown
  error?: { code: number; message: string; data?: { resolve_error?: string } }
}

export class ResolverProcess {
  readonly dir: string
  readonly config: InstanceConfig
  readonly child: ChildProcessWithoutNullStreams
  /** Every line on stdout, as it came. */
  readonly lines: string[] = []
  stderr = ''
  #lastId = 0
  #rest = ''

  constructor(options: LaunchOptions) {
    this.dir = options.dir ?? join(mkdtempSync(join(tmpdir(), 'resolve-sdk-run-')), '.resolve')
    mkdirSync(this.dir, { recursive: true })
    this.config = {
      instance_id: INSTANCE_ID,
      resolver_name: options.name,
      params: options.params ?? {},
      secret_fields: options.secretFields ?? [],
      workspace_path: join(this.dir, '../workspace'),
      project_path: join(this.dir, '..'),
      resolve_path: this.dir,
      git_provider: { type: 'github', base_url: '', token: '' },
      credentials: { llm_provider_api_key: '', git_host_token: '' },
      llm: { model: '', base_url: '' },
      sub_container_token: '',
      capabilities: [],
    }
    writeFileSync(join(this.dir, 'config.json'), JSON.stringify(this.config, null, 2))
    const { PATH = '', HOME = '' } = process.env
    const [program = '', ...args] = options.command
    const env = { PATH, HOME, RESOLVE_DIR: this.dir, RESOLVE_CHANNEL: '1', ...options.env }
    this.child = spawn(program === 'node' ? process.execPath : program, args, {
      cwd: options.cwd,
      env,
      // As a host does: the leader of a group of its own.
      detached: true,
    })
    this.child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (this.#rest + chunk).split('\n')
      this.#rest = lines.pop() ?? ''
      this.lines.push(...lines)
    })
    this.child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      this.stderr += chunk
    })
    this.child.stdin.on('error', () => {})
    onTestFinished(async () => {
      this.child.kill('SIGKILL')
      await rm(join(this.dir, '..'), { recursive: true, force: true })
    })
  }

  get frames(): Record<string, unknown>[] {
    return this.lines
      .filter((line) => line.startsWith('{"jsonrpc"'))
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  }

  notices(method: string): Record<string, unknown>[] {
    return this.frames.filter((frame) => frame['method'] === method)
  }

  write(line: string): void {
    this.child.stdin.write(`${line}\n`)
  }

  notify(method: string, params: unknown = {}): void {
    this.write(JSON.stringify({ jsonrpc: '2.0', method, params }))
  }

  /** Calls and gives the result; fails the test on an error reply. */
  async call(method: string, params: unknown = {}): Promise<unknown> {
    const reply = await this.ask(method, params)
    if (reply.error !== undefined) throw new Error(`${method}: ${reply.error.message}`)
    return reply.result
  }

  async ask(method: string, params: unknown = {}): Promise<Reply> {
    const id = `3:${++this.#lastId}`
    this.write(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    return await this.until(`a reply to ${method}`, () => this.frames.find((frame) => frame['id'] === id))
  }

  async start(resume = false): Promise<void> {
    this.write('')
    await this.call('resolver.initialize', { config: this.config })
    await this.call('resolver.run', { resume })
  }

  events(): EventEnvelope[] {
    const text = this.read('events.jsonl') ?? ''
    // What has no line end yet is still being written.
    return text
      .slice(0, text.lastIndexOf('\n') + 1)
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as EventEnvelope)
  }

  types(): string[] {
    return this.events().map((event) => event.event_type)
  }

  event(type: string): EventEnvelope | undefined {
    return this.events().find((event) => event.event_type === type)
  }

  async untilEvent(type: string): Promise<EventEnvelope> {
    return await this.until(`the event ${type}`, () => this.event(type))
  }

  /** Answers like a host: first the file, then the call. */
  async answer(requestId: string, payload: Record<string, unknown>): Promise<void> {
    writeFileSync(join(this.dir, `input-requests/${requestId}.response.json`), JSON.stringify(payload))
    await this.call('resolver.inputResponse', { request_id: requestId, payload })
  }

  async untilRequest(requestId: string): Promise<Record<string, unknown>> {
    return await this.until(`the request ${requestId}`, () => this.json(`input-requests/${requestId}.json`))
  }

  /** The result, as `status.json` has it once the resolver has told that it finished. */
  async result(): Promise<Record<string, unknown>> {
    await this.until('resolver.finished', () => this.notices('resolver.finished')[0])
    return this.json('status.json') ?? {}
  }

  /** Its stderr is another pipe than the one that told what the test waited for. */
  async untilSaid(text: string): Promise<void> {
    await this.until(`"${text}" on stderr`, () => (this.stderr.includes(text) ? true : undefined))
  }

  async exitCode(): Promise<number | string> {
    return await this.until('the exit', () => this.child.exitCode ?? this.child.signalCode ?? undefined)
  }

  read(path: string): string | undefined {
    const file = join(this.dir, path)
    return existsSync(file) ? readFileSync(file, 'utf8') : undefined
  }

  json(path: string): Record<string, unknown> | undefined {
    const text = this.read(path)
    return text === undefined ? undefined : (JSON.parse(text) as Record<string, unknown>)
  }

  async until<T>(what: string, look: () => T | undefined): Promise<T> {
    for (const end = Date.now() + WAIT_LIMIT_MS; Date.now() < end; await sleep(5)) {
      const found = look()
      if (found !== undefined) return found
    }
    throw new Error(`Waited in vain for ${what}; lines: ${this.lines.join('\n')}\nstderr: ${this.stderr}`)
  }
}

/** A resolver of test/sdk/resolvers, with the SDK from source. */
export function launchSample(name: string, options: Partial<LaunchOptions> = {}): ResolverProcess {
  return new ResolverProcess({ command: ['node', sample(name)], name, ...options })
}

/** A resolver of test/fixtures/resolvers, as a host starts it. */
export function launchFixture(name: string, options: Partial<LaunchOptions> = {}): ResolverProcess {
  const cwd = options.cwd ?? fixture(name)
  const { command } = JSON.parse(readFileSync(join(cwd, 'manifest.json'), 'utf8')) as { command: string[] }
  return new ResolverProcess({ command, cwd, name, ...options, env: { ...registered(), ...options.env } })
}

/** The environment that a host gives, so that `resolve-platform/sdk` is found. */
export function registered(): Record<string, string> {
  return { NODE_OPTIONS: `--import=${pathToFileURL(join(builtSdk(), 'sdk/register.js')).href}` }
}
