/**
 * The network between a worker in Docker and its git server: an allowlist has one already, beside the others there is one of the two
 * alone. For local workers there is none. {@link file://./instance-git.ts} opens it.
 */
import { GIT_SERVER_ALIAS } from '../../git-server/container-server.ts'
import type { CreationRecord } from '../../protocol/journal.ts'
import { openNetwork, removeNetwork } from '../../worker/egress/network.ts'
import { homeLabel } from '../../worker/engine/container-places.ts'
import { theEngine } from '../../worker/engine/engine.ts'
import { NO_NETWORK, type SandboxNetwork } from '../../worker/sandbox-network.ts'

export class GitNetwork {
  readonly #creation: CreationRecord
  readonly #home: string
  #opened: { name: string; gateway: string } | undefined

  constructor(creation: CreationRecord, home: string) {
    this.#creation = creation
    this.#home = home
  }

  /** Empty before it is open, and for local workers. */
  get name(): string {
    return this.#opened?.name ?? ''
  }

  /** `egress`: gives the network of the worker's egress. Throws `docker_unreachable`. */
  async open(egress: () => Promise<SandboxNetwork | undefined>): Promise<void> {
    if (!this.#isInDocker || this.#opened !== undefined) return
    const kind = this.#creation.resolver.manifest.container?.network ?? 'open'
    if (kind === 'allowlist') {
      const { mode = '', dns = [] } = (await egress()) ?? {}
      this.#opened = { name: mode, gateway: dns[0] ?? '' }
      return
    }
    this.#opened = await openNetwork(theEngine(), this.#owner)
  }

  /** The network of the worker, with its git server in it; `joins`: a further network for its container. */
  within(network: SandboxNetwork | undefined): { network: SandboxNetwork | undefined; joins?: string } {
    if (this.#opened === undefined || network === undefined) return { network }
    const { name, gateway } = this.#opened
    const { mode, environment } = network
    if (mode === NO_NETWORK.mode) {
      const dnsOptions = ['timeout:1', 'attempts:1']
      return { network: { mode: name, dns: [gateway], dnsOptions, environment } }
    }
    if (mode !== name) return { network, joins: name }
    const own = ['NO_PROXY', 'no_proxy'].map((key) => [key, `${environment[key] ?? ''},${GIT_SERVER_ALIAS}`])
    return { network: { ...network, environment: { ...environment, ...Object.fromEntries(own) } } }
  }

  async remove(): Promise<void> {
    if (this.#isInDocker) await removeNetwork(theEngine(), this.#owner)
  }

  get #isInDocker(): boolean {
    return this.#creation.executor === 'docker'
  }

  get #owner() {
    return { instance: this.#creation.instance_id, home: homeLabel(this.#home), role: 'git' as const }
  }
}
