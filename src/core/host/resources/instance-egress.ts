/**
 * The egress of an instance's worker, kept open by its host (docs/manifest.md, The network): its network, its proxy, and the
 * events about refusals.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { ENGINE_RETRY_MAX_MS, ENGINE_RETRY_MIN_MS } from '../../limits.ts'
import { backoffMs } from '../../primitives/backoff.ts'
import type { CreationRecord } from '../../protocol/journal.ts'
import { type Egress, type EgressPlan, openEgress } from '../../worker/egress/egress.ts'
import { type NetworkOwner, removeNetwork } from '../../worker/egress/network.ts'
import { homeLabel } from '../../worker/engine/container-places.ts'
import { theEngine } from '../../worker/engine/engine.ts'
import { BRIDGE, NO_NETWORK, type SandboxNetwork } from '../../worker/sandbox-network.ts'
import type { Ledger } from '../ledger/ledger.ts'

export interface InstanceEgressParts {
  ledger: Ledger
  home: string
  write: (line: () => void) => Promise<void>
  /** For tests, as in EgressPlan: further reachable addresses, another resolver for names. */
  egress?: Pick<EgressPlan, 'resolve' | 'mayReach'> | undefined
}

export class InstanceEgress {
  readonly #parts: InstanceEgressParts
  readonly #creation: CreationRecord
  readonly #closed = new AbortController()
  #opened: Egress | undefined

  constructor(parts: InstanceEgressParts) {
    this.#parts = parts
    this.#creation = parts.ledger.story.creation
  }

  /** The network settings for its container, and for sandboxes that share it; undefined before it is open. */
  get network(): SandboxNetwork | undefined {
    const { container } = this.#creation.resolver.manifest
    if (this.#creation.executor !== 'docker') return BRIDGE
    if (container?.network === 'none') return NO_NETWORK
    if (this.#opened === undefined) return undefined
    const { networkMode: mode, dns, dnsOptions, environment } = this.#opened
    return { mode, dns, dnsOptions, environment }
  }

  /** Called before a worker is started. Throws `container_refused`, `docker_unreachable`. */
  async open(): Promise<SandboxNetwork | undefined> {
    if (this.#isOurs && this.#opened === undefined) await this.#open(false)
    return this.network
  }

  /** Called for an adopted worker: the worker runs meanwhile, without the egress of an allowlist until this host has opened it. */
  reopen(): void {
    if (this.#isOurs) void this.#openAtLast()
  }

  /** Stops the proxy; the network stays for the next host. */
  async close(): Promise<void> {
    this.#closed.abort()
    await this.#opened?.close()
    this.#opened = undefined
  }

  /** Called when no worker is left. The reaper removes what an unreachable engine keeps. */
  async remove(): Promise<void> {
    if (!this.#isOurs) return
    await this.close()
    await removeNetwork(theEngine(), this.#owner).catch(() => undefined)
  }

  async #openAtLast(): Promise<void> {
    const { signal } = this.#closed
    for (let tries = 0; !signal.aborted; tries += 1) {
      const isOpen = await this.#open(true).then(
        () => true,
        () => false,
      )
      if (isOpen) return
      const waitMs = backoffMs(tries, ENGINE_RETRY_MIN_MS, ENGINE_RETRY_MAX_MS)
      await sleep(waitMs, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }

  async #open(isAdopted: boolean): Promise<void> {
    const { ledger, write, egress } = this.#parts
    const { network = 'open', egress: rules = [] } = this.#creation.resolver.manifest.container ?? {}
    const opened = await openEgress(theEngine(), {
      ...this.#owner,
      ...egress,
      network,
      egress: rules,
      isAdopted,
      onDenied: (denial) => {
        // If another host owns the instance now, only that host may write its journal.
        write(() => ledger.record('platform.egress.denied', { ...denial })).catch(() => undefined)
      },
    })
    if (this.#closed.signal.aborted) await opened.close()
    else this.#opened = opened
    if (opened.guarded === false) await this.#warnUnguarded()
  }

  /** A driver reports the limits that it could not set. */
  async #warnUnguarded(): Promise<void> {
    const { ledger, write } = this.#parts
    const data = { kind: 'network_unguarded', value: 0, limit: 0 }
    await write(() => ledger.record('platform.watchdog.warning', data))
  }

  get #isOurs(): boolean {
    const { executor, resolver } = this.#creation
    return executor === 'docker' && resolver.manifest.container?.network !== 'none'
  }

  get #owner(): NetworkOwner {
    return { instance: this.#creation.instance_id, home: homeLabel(this.#parts.home) }
  }
}
