/**
 * The session factory that run() gets. It loads {@link file://./../../sessions/main.ts} at the first `create`, and tells what sessions do as
 * events of the resolver, which the host journals (R56).
 */
import { SESSION_COMPLETED, SESSION_DISPATCHED } from '../../core/protocol/event.ts'
import type { InstanceError } from '../../core/protocol/instance.ts'
import type { SessionFactory, SessionOptions } from '../../sessions/contract/contract.ts'
import type { Sessions } from '../../sessions/main.ts'
import type { OpenSession } from '../../sessions/session.ts'
import type { InstanceContext } from './instance-context.ts'

export class LazySessions implements SessionFactory {
  readonly #instance: InstanceContext
  #loading: Promise<Sessions> | undefined
  #loaded: Sessions | undefined

  constructor(instance: InstanceContext) {
    this.#instance = instance
  }

  /** `number`: as in {@link Sessions.create}. */
  async create(name: string, options?: SessionOptions, number?: number): Promise<OpenSession> {
    this.#loading ??= this.#load()
    const sessions = await this.#loading
    return await sessions.create(name, options, number)
  }

  /** How many were opened: `sessions_used` of a result that does not say it. */
  get used(): number {
    return this.#loaded?.used ?? 0
  }

  /** The run ended and is not paused: no turn stays open. */
  endOpen(error: InstanceError): void {
    this.#loaded?.endOpen(error)
  }

  async #load(): Promise<Sessions> {
    const { Sessions } = await import('../../sessions/main.ts')
    const { config, dir, signal } = this.#instance
    this.#loaded = new Sessions({
      ...{ config, dir, signal },
      tellDispatched: (data) => this.#instance.emit(SESSION_DISPATCHED, data),
      tellCompleted: (data) => this.#instance.emit(SESSION_COMPLETED, data),
      onWarning: (text) => this.#instance.log(text, 'warn'),
      onGuardian: ({ detail }) => this.#instance.log(detail, 'warn'),
    })
    return this.#loaded
  }
}
