/**
 * The main loop of a resolver: reads JSON-RPC lines from stdin, calls the resolver, and writes replies to stdout (spec,
 * serve(); R40–R44). A new host may repeat every call after the old one died; a repeated call changes nothing.
 */
import { fail } from '../core/errors.ts'
import { isObject } from '../core/primitives/is-object.ts'
import type { Payload } from '../core/protocol/form.ts'
import type { InstanceConfig } from '../core/protocol/instance.ts'
import { type HostCall, type Identity, INPUT_REFUSED, SHUTDOWN } from '../core/protocol/methods.ts'
import { Peer } from '../core/rpc/peer.ts'
import { captureStdoutLate } from './capture.ts'
import type { ResolverContract } from './instance/contract.ts'
import { InstanceContext } from './instance/instance-context.ts'
import { checkAgainstManifest } from './own-manifest.ts'
import { Run } from './run.ts'
import { StdioChannel } from './stdio-channel.ts'

type Params = Record<string, unknown>

/** The state that a base-class resolver gets: its context, once there is one. */
export interface ContextReceiver {
  receive(instance: InstanceContext): void
}

/** Returns at once. The process then runs until resolver.shutdown, or until stdin has ended and no work is left. */
export function serve(resolver: ResolverContract, receiver?: ContextReceiver): void {
  captureStdoutLate()
  if (process.stdin.isTTY)
    console.error(`This is the resolver "${resolver.name}": run it with "resolve instance run ${resolver.name}".`)
  const peer = new Peer(new StdioChannel(), {
    onNoise: (line, why) => {
      // A reply of an earlier host that arrives too late is ignored.
      if (why === 'not_json_rpc') console.error(`Not a JSON-RPC frame: ${line.slice(0, 200)}`)
    },
  })
  const service = new Service(resolver, peer, receiver)
  for (const [method, answer] of Object.entries(service.calls())) {
    peer.handle(method, (params) => answer(toObject(params)))
  }
  peer.handle(INPUT_REFUSED, (params) => service.refused(toObject(params)))
  peer.handle(SHUTDOWN, () => service.leave())
}

class Service {
  readonly #resolver: ResolverContract
  readonly #peer: Peer
  readonly #receiver: ContextReceiver | undefined
  #instance: InstanceContext | undefined
  #run: Run | undefined
  #isStarted = false

  constructor(resolver: ResolverContract, peer: Peer, receiver: ContextReceiver | undefined) {
    this.#resolver = resolver
    this.#peer = peer
    this.#receiver = receiver
  }

  calls(): Record<HostCall, (params: Params) => unknown> {
    const resolver = this.#resolver
    return {
      'resolver.initialize': ({ config, epoch }) => this.#initialize(config as InstanceConfig, toNumber(epoch) ?? 0),
      'resolver.run': ({ resume }) => this.#start(resume === true),
      'resolver.stop': ({ reason }) => this.#stop(String(reason)),
      'resolver.inputResponse': ({ request_id, payload }) =>
        this.#current('take an answer').instance.requests.answer(String(request_id), toObject(payload)),
      'resolver.message': ({ message_type, payload, number }) =>
        this.#current('take a message').run.message(String(message_type), toObject(payload), toNumber(number)),
      'resolver.getInstantiationSchema': ({ params }) => {
        this.#tellIdentity()
        return resolver.instantiationSchema(params === undefined || params === null ? null : toObject(params))
      },
      'resolver.getWorkspaceSpec': (params) => this.#workspaceSpec(params),
      'resolver.getMessageTypes': ({ instance_state }) => resolver.messageTypes(toObject(instance_state)),
    }
  }

  /** A notification of the host: a request has a malformed form (R30). */
  refused({ request_id, errors }: Params): void {
    this.#instance?.requests.refuse(String(request_id), Array.isArray(errors) ? errors.map(String) : [])
  }

  leave(): void {
    if (this.#isStarted) this.#run?.leave()
    process.exit(0)
  }

  #initialize(config: InstanceConfig, epoch: number): { status: 'ready' } {
    if (this.#instance?.config.instance_id === config.instance_id) {
      this.#instance.sandboxes.adopted(epoch)
      this.#instance.realityChecks.adopted(epoch)
      return { status: 'ready' }
    }
    checkAgainstManifest(this.#resolver, config.resolver_name)
    const instance = new InstanceContext({
      config,
      dir: config.resolve_path || process.env['RESOLVE_DIR'] || `${process.cwd()}/.resolve`,
      name: this.#resolver.name,
      peer: this.#peer,
      epoch,
      onAnswer: (id, payload) => void this.#onAnswer(config, id, payload),
    })
    this.#instance = instance
    this.#run = new Run(this.#resolver, instance, this.#peer)
    this.#receiver?.receive(instance)
    return { status: 'ready' }
  }

  #start(resume: boolean): { status: 'started' } {
    const { run } = this.#current('run')
    if (this.#isStarted) run.reportAgain()
    // After the reply, so that "started" is sent before anything that the run does.
    else setImmediate(() => void run.start(resume))
    this.#isStarted = true
    return { status: 'started' }
  }

  #stop(reason: string): { acknowledged: true } {
    this.#run?.stop(reason)
    return { acknowledged: true }
  }

  /** The platform compares it with the manifest at registration (R52). */
  #tellIdentity(): void {
    const { name, version, supportsResume } = this.#resolver
    const identity: Identity = { name, version, supports_resume: supportsResume }
    this.#peer.notify('resolver.identity', identity)
  }

  async #workspaceSpec({ params, available_credentials }: Params): Promise<unknown> {
    const filled = toObject(params)
    const credentials = Array.isArray(available_credentials) ? available_credentials.map(String) : []
    const spec = await this.#resolver.workspaceSpec(filled, credentials)
    const setup = await this.#resolver.containerSetup(filled)
    if (!spec && !setup) return null
    return { ...(spec ?? { repos: [] }), ...(setup ? { container_setup: setup } : {}) }
  }

  async #onAnswer(config: InstanceConfig, id: string, payload: Payload): Promise<void> {
    try {
      await this.#resolver.onInputResponse(config, id, payload)
    } catch (error) {
      console.error(`The resolver's handler of the answer to "${id}" failed:`, error)
    }
  }

  #current(what: string): { instance: InstanceContext; run: Run } {
    if (this.#instance === undefined || this.#run === undefined) throw fail('resolver_not_ready', { what })
    return { instance: this.#instance, run: this.#run }
  }
}

function toObject(value: unknown): Params {
  return isObject(value) ? (value as Params) : {}
}

function toNumber(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}
