/**
 * Resolves names for the proxy: connections to one name share a look-up, and its answer for some seconds, because a package manager
 * opens twenty connections at once and each look-up waited for the others. {@link file://./egress-proxy.ts} checks the addresses again for
 * each connection, and connects to what it checked.
 */
import { lookup } from 'node:dns/promises'
import {
  EGRESS_CONNECTIONS_MAX,
  EGRESS_NAME_FAILURE_KEPT_MS,
  EGRESS_NAME_KEPT_MS,
  EGRESS_NAMES_KEPT_MAX,
  EGRESS_RESOLVE_LIMIT_MS,
} from '../../limits.ts'
import { within } from '../../primitives/within.ts'

interface Kept {
  addresses: readonly string[]
  untilMs: number
}

export class SharedLookups {
  readonly #resolve: (host: string) => Promise<string[]>
  readonly #now: () => number
  readonly #kept = new Map<string, Kept>()
  readonly #inFlight = new Map<string, Promise<readonly string[]>>()

  /** `resolve`: the system's resolver by default. `now`: the time in milliseconds, which only grows. */
  constructor(resolve: (host: string) => Promise<string[]> = resolveHere, now = () => performance.now()) {
    this.#resolve = resolve
    this.#now = now
  }

  /** The addresses of a name; empty where it has none, or no answer came in time. */
  async addressesOf(host: string): Promise<readonly string[]> {
    const kept = this.#kept.get(host)
    if (kept !== undefined && kept.untilMs > this.#now()) return kept.addresses
    const pending = this.#inFlight.get(host) ?? this.#begin(host)
    return (await within(EGRESS_RESOLVE_LIMIT_MS, pending)) ?? []
  }

  #begin(host: string): Promise<readonly string[]> {
    // A client may leave its look-up behind and ask for the next name.
    if (this.#inFlight.size >= EGRESS_CONNECTIONS_MAX) return Promise.resolve([])
    const pending = this.#ask(host).then((addresses) => {
      this.#inFlight.delete(host)
      this.#keep(host, addresses)
      return addresses
    })
    this.#inFlight.set(host, pending)
    return pending
  }

  async #ask(host: string): Promise<readonly string[]> {
    try {
      return await this.#resolve(host)
    } catch {
      return []
    }
  }

  #keep(host: string, addresses: readonly string[]): void {
    const [oldest] = this.#kept.keys()
    if (this.#kept.size >= EGRESS_NAMES_KEPT_MAX && oldest !== undefined) this.#kept.delete(oldest)
    const keptMs = addresses.length === 0 ? EGRESS_NAME_FAILURE_KEPT_MS : EGRESS_NAME_KEPT_MS
    // Deleted first: the order of the map is the order of the answers.
    this.#kept.delete(host)
    this.#kept.set(host, { addresses, untilMs: this.#now() + keptMs })
  }
}

async function resolveHere(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true })
  return found.map(({ address }) => address)
}
