/**
 * Sandboxes for steps that a resolver does not trust: containers without network and rights, requested from the host
 * (docs/writing-a-resolver.md).
 */
import { randomBytes } from 'node:crypto'
import { fail, ResolveError } from '../../core/errors.ts'
import type { Peer } from '../../core/rpc/peer.ts'

export interface SandboxOptions {
  /** The image of the resolver's own worker by default; an operator must allow other images. */
  image?: string
  environment?: Readonly<Record<string, string>>
  /** none by default; `instance`: the same as the resolver itself. */
  network?: 'none' | 'instance'
}

export interface CommandOptions {
  /** Absolute; default `/tmp`, the only writable path. */
  cwd?: string
  environment?: Readonly<Record<string, string>>
  /** At most 2 MiB. */
  stdin?: string
  /** Default 10 minutes, at most 2 hours. */
  timeoutMs?: number
}

export interface CommandResult {
  /** null where the command was ended before it finished. */
  exitCode: number | null
  /** The last 256 KiB. */
  stdout: string
  stderr: string
  truncated: boolean
  timedOut: boolean
}

export interface Sandbox extends AsyncDisposable {
  readonly id: string
  /** Runs a program with its arguments, without a shell. A failing command is a result; throws where it could not be run. */
  exec(command: readonly string[], options?: CommandOptions): Promise<CommandResult>
  /** Below `/tmp`; missing directories are created. */
  write(path: string, content: string): Promise<void>
  remove(): Promise<void>
}

/** Calls that have the same effect when they are repeated to the next host. */
type Method = 'platform.createSubContainer' | 'platform.exec' | 'platform.removeSubContainer'

/** The sandboxes of one instance. Pending calls are lost when their host dies: {@link adopted} sends them again to the next one. */
export class Sandboxes {
  readonly #peer: Peer
  readonly #token: string
  readonly #lost = new Set<() => void>()
  #epoch: number

  constructor(peer: Peer, token: string, epoch: number) {
    this.#peer = peer
    this.#token = token
    this.#epoch = epoch
  }

  /** Another host adopted the worker: the earlier one will not answer any more. */
  adopted(epoch: number): void {
    if (epoch === this.#epoch) return
    this.#epoch = epoch
    for (const lose of [...this.#lost]) lose()
  }

  async create(options: SandboxOptions = {}): Promise<Sandbox> {
    const params = { key: randomBytes(12).toString('hex'), ...options }
    const { container_id: id } = (await this.#call('platform.createSubContainer', params)) as { container_id: string }
    const exec = (command: readonly string[], how: CommandOptions = {}) => this.#exec(id, command, how)
    const remove = async () => {
      await this.#call('platform.removeSubContainer', { container_id: id })
    }
    return {
      id,
      exec,
      remove,
      async write(path, content) {
        const script = 'mkdir -p "$(dirname "$1")" && cat > "$1"'
        const { exitCode, stderr } = await exec(['sh', '-c', script, 'sh', path], { stdin: content })
        if (exitCode !== 0) throw fail('sandbox_refused', { reason: `can't write ${path}: ${stderr.trim()}` })
      },
      [Symbol.asyncDispose]: remove,
    }
  }

  async #exec(id: string, command: readonly string[], options: CommandOptions): Promise<CommandResult> {
    const { timeoutMs, ...rest } = options
    const limit = timeoutMs === undefined ? {} : { timeout_seconds: timeoutMs / 1_000 }
    const params = { container_id: id, command, ...rest, ...limit }
    const done = (await this.#call('platform.exec', params)) as Record<string, unknown>
    return {
      exitCode: done['exit_code'] as number | null,
      stdout: String(done['stdout']),
      stderr: String(done['stderr']),
      truncated: done['truncated'] === true,
      timedOut: done['timed_out'] === true,
    }
  }

  async #call(method: Method, params: Record<string, unknown>): Promise<unknown> {
    for (;;) {
      const answer = await this.#callOnce(method, params)
      if (answer !== LOST) return answer
      // Running a command twice may be worse than not knowing its result.
      if (method === 'platform.exec') throw fail('sandbox_lost', { command: (params['command'] as string[]).join(' ') })
    }
  }

  async #callOnce(method: Method, params: Record<string, unknown>): Promise<unknown> {
    let lose = () => {}
    const lost = new Promise<typeof LOST>((resolve) => {
      lose = () => resolve(LOST)
    })
    this.#lost.add(lose)
    const sent = { ...params, token: this.#token, epoch: this.#epoch }
    try {
      return await Promise.race([this.#peer.call(method, sent, 0), lost])
    } catch (error) {
      if (!(error instanceof ResolveError) || error.code !== 'resolver_refused') throw error
      const reason = String(error.details['detail'])
        .replace(/^Can't use a sandbox: /, '')
        .replace(/\.$/, '')
      throw fail('sandbox_refused', { reason }, { cause: error })
    } finally {
      this.#lost.delete(lose)
    }
  }
}

const LOST = Symbol('lost')
