/**
 * Handles a resolver's calls for sandboxes: `platform.createSubContainer`, `platform.exec`, `platform.removeSubContainer`
 * (spec, Optional containers; R40; threats B11). It parses every option; {@link file://./../../worker/sandbox/sandbox.ts}
 * builds the request to the engine.
 */
import { fail } from '../../errors.ts'
import * as limits from '../../limits.ts'
import type { Engine } from '../../worker/engine/engine.ts'
import {
  createSandbox,
  isOwnSandbox,
  removeSandbox,
  removeSandboxes,
  type SandboxOwner,
} from '../../worker/sandbox/sandbox.ts'
import { runInSandbox } from '../../worker/sandbox/sandbox-exec.ts'
import { NO_NETWORK, type SandboxNetwork } from '../../worker/sandbox-network.ts'
import { type Admission, admitted, never } from '../checks/admission.ts'
import type { ResolverCalls } from '../launch/resolver-calls.ts'
import { parseCommand, parseCreation, parseId, type SandboxParams } from './sandbox-options.ts'

export interface SandboxBrokerOptions extends Admission {
  owner: SandboxOwner
  /** The allowed images; the first is the default. */
  images: readonly string[]
  /** The network that the instance's worker itself may use. */
  network: () => SandboxNetwork | undefined
  engine: () => Engine
  /** Stored durably: whether the instance ever had a sandbox. */
  use: { note: () => void; isNoted: () => boolean }
}

export class SandboxBroker {
  readonly #options: SandboxBrokerOptions
  readonly #closed = new AbortController()
  #running = 0

  constructor(options: SandboxBrokerOptions) {
    this.#options = options
  }

  serve(calls: ResolverCalls): void {
    calls.serve('platform.createSubContainer', (params) => this.#admit(params, (params) => this.#create(params)))
    calls.serve('platform.exec', (params) => this.#admit(params, (params) => this.#exec(params)))
    calls.serve('platform.removeSubContainer', (params) => this.#admit(params, (params) => this.#remove(params)))
  }

  /** Releases them: running commands are ended, the sandboxes stay for the next host. */
  close(): void {
    this.#closed.abort()
  }

  /** The instance has ended or pauses: all sandboxes are removed. The reaper removes what an unreachable engine keeps. */
  async end(): Promise<void> {
    this.close()
    const { engine, owner, use } = this.#options
    if (use.isNoted()) await removeSandboxes(engine(), owner).catch(() => undefined)
  }

  async #admit(received: unknown, work: (params: SandboxParams) => Promise<unknown>): Promise<unknown> {
    const params = admitted(received, this.#options, refused)
    if (params === undefined) return await never()
    if (this.#closed.signal.aborted) throw refused('the instance is ending')
    return await work(params)
  }

  async #create(params: SandboxParams): Promise<{ container_id: string }> {
    const { owner, images, network, engine, use } = this.#options
    const { key, image, environment, network: wanted } = parseCreation(params)
    const chosen = image ?? (images[0] as string)
    if (!images.includes(chosen)) {
      throw refused(`image "${chosen}" is not one an operator allows (RESOLVE_SANDBOX_IMAGES)`)
    }
    const net = wanted === 'none' ? NO_NETWORK : network()
    if (net === undefined) throw refused('this instance has no network to share')
    use.note()
    const id = await createSandbox(engine(), { ...owner, key, image: chosen, environment, network: net })
    if (id === undefined) throw fail('too_many', { what: 'sandboxes', limit: limits.SANDBOXES_MAX })
    // The instance ended while the sandbox was created.
    if (this.#closed.signal.aborted) await removeSandbox(engine(), owner, id)
    return { container_id: id }
  }

  async #exec(params: SandboxParams): Promise<Record<string, unknown>> {
    const { owner, engine } = this.#options
    const { id, ...command } = parseCommand(params)
    if (this.#running >= limits.SANDBOX_COMMANDS_MAX) {
      throw fail('too_many', { what: 'commands in sandboxes', limit: limits.SANDBOX_COMMANDS_MAX })
    }
    this.#running += 1
    try {
      if (!(await isOwnSandbox(engine(), owner, id))) throw refused(`there is no sandbox "${id}"`)
      const done = await runInSandbox(engine(), id, { ...command, signal: this.#closed.signal })
      // Ended because this host stops: the next host answers the repeated call.
      if (this.#closed.signal.aborted) return await never()
      const { exitCode: exit_code, stdout, stderr, truncated, timedOut: timed_out } = done
      return { exit_code, stdout, stderr, truncated, timed_out }
    } finally {
      this.#running -= 1
    }
  }

  async #remove(params: SandboxParams): Promise<{ removed: boolean }> {
    const { owner, engine } = this.#options
    return { removed: await removeSandbox(engine(), owner, parseId(params)) }
  }
}

function refused(reason: string) {
  return fail('sandbox_refused', { reason })
}
