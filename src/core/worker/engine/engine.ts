/**
 * The Docker engine of this machine, for drivers, sandboxes and doctor. Every call ends with the engine's answer, or with
 * `docker_unreachable` when none came in time (threats D15); so an unreachable engine is never mistaken for one that refuses.
 * dockerode is loaded at the first call.
 */
import type Dockerode from 'dockerode'
import { fail, ResolveError, systemCode } from '../../errors.ts'
import { ENGINE_CALL_LIMIT_MS } from '../../limits.ts'

/** An engine's error response. */
export class EngineRefusal extends Error {
  readonly status: number

  constructor(status: number, reason: string) {
    super(reason)
    this.name = 'EngineRefusal'
    this.status = status
  }
}

export class Engine {
  readonly socket: string
  #docker: Promise<Dockerode> | undefined

  constructor(socket: string) {
    this.socket = socket
  }

  /** Throws `docker_unreachable`, or an {@link EngineRefusal}. */
  async call<T>(work: (docker: Dockerode, abortSignal: AbortSignal) => Promise<T>, limitMs = ENGINE_CALL_LIMIT_MS) {
    const docker = await this.#open()
    const limit = new AbortController()
    // This timer keeps the process alive: a call to a silent engine must end in any case.
    const timer = setTimeout(() => limit.abort(), limitMs)
    try {
      return await work(docker, limit.signal)
    } catch (error) {
      throw this.#explain(error, limit.signal.aborted, limitMs)
    } finally {
      clearTimeout(timer)
    }
  }

  /** Like {@link call}, but `status` is not a failure: returns undefined for it. */
  async callUnless<T>(
    status: number | readonly number[],
    work: (docker: Dockerode, abortSignal: AbortSignal) => Promise<T>,
    limitMs?: number,
  ): Promise<T | undefined> {
    try {
      return await this.call(work, limitMs)
    } catch (error) {
      if (error instanceof EngineRefusal && [status].flat().includes(error.status)) return undefined
      throw error
    }
  }

  #open(): Promise<Dockerode> {
    this.#docker ??= import('dockerode').then(({ default: Docker }) => new Docker({ socketPath: this.socket }))
    return this.#docker
  }

  #explain(error: unknown, isLate: boolean, limitMs: number): unknown {
    if (error instanceof ResolveError || error instanceof EngineRefusal) return error
    const { statusCode, reason, json, message } = error as Record<string, unknown>
    if (typeof statusCode === 'number') {
      const said = (json as { message?: unknown } | undefined)?.message
      return new EngineRefusal(statusCode, String(said ?? reason ?? message).trim())
    }
    const why = isLate ? `it did not answer within ${limitMs / 1000} s` : reasonOf(systemCode(error) ?? String(message))
    return fail('docker_unreachable', { socket: this.socket, reason: why }, { cause: error })
  }
}

/** Whether the call failed because the engine is unreachable; it may come back. */
export function isAway(error: unknown): boolean {
  return error instanceof ResolveError && error.code === 'docker_unreachable'
}

/** `container_refused` for an engine's error response; other errors unchanged. */
export function toRefusal(error: unknown, what: string): unknown {
  if (!(error instanceof EngineRefusal)) return error
  return fail('container_refused', { what, reason: error.message.replace(/\.$/, '') }, { cause: error })
}

const DEFAULT_SOCKET = '/var/run/docker.sock'

/** The socket that DOCKER_HOST names, or the default one. Throws `docker_unreachable` for another kind of address. */
export function engineSocket(env: NodeJS.ProcessEnv = process.env): string {
  const address = env['DOCKER_HOST'] ?? ''
  if (address === '') return DEFAULT_SOCKET
  if (address.startsWith('unix://')) return address.slice('unix://'.length) || DEFAULT_SOCKET
  throw fail('docker_unreachable', {
    socket: address,
    reason: 'workers share directories with it, so it must be a unix socket',
  })
}

let engine: Engine | undefined

/** The engine of this process, made once. */
export function theEngine(env: NodeJS.ProcessEnv = process.env): Engine {
  const socket = engineSocket(env)
  if (engine?.socket !== socket) engine = new Engine(socket)
  return engine
}

function reasonOf(code: string): string {
  switch (code) {
    case 'ENOENT':
      return 'there is no engine'
    case 'ECONNREFUSED':
      return 'no engine listens there'
    case 'EACCES':
    case 'EPERM':
      return 'permission denied'
    default:
      return code
  }
}
