/** The instances that this process hosts: `instance run` hosts one, a background host a few, `serve` many. */
import { existsSync } from 'node:fs'
import { fail, isScarcity, systemCode } from '../../errors.ts'
import { failpoint } from '../../failpoints.ts'
import { TRACES_CLOSE_LIMIT_MS } from '../../limits.ts'
import { within } from '../../primitives/within.ts'
import type { Executor } from '../../protocol/journal.ts'
import { type InstancePaths, instancePaths } from '../../store/home.ts'
import { InstanceIndex } from '../../store/instance-index.ts'
import {
  claimEpoch,
  dropKeptStop,
  highestEpoch,
  isOwnerAlive,
  type Owner,
  readKeptStop,
  readOwner,
  releaseEpoch,
} from '../../store/owners.ts'
import { traceSessions } from '../../telemetry/session-traces.ts'
import { endAbandonedInquiries } from '../../worker/local/inquiry-process.ts'
import type { Driver } from '../../worker/worker.ts'
import { readTranscript } from '../ingest/instance-files.ts'
import { Ledger } from '../ledger/ledger.ts'
import { InstanceHost } from '../lifecycle/instance-host.ts'
import { HomeQueue } from '../queue/home-queue.ts'
import type { InstanceEgressParts } from '../resources/instance-egress.ts'
import { listen, type OnConnection, refuseRequests } from './control-socket.ts'
import { driverFor } from './drivers.ts'
import { startReaper } from './reaper.ts'

interface Held {
  host: InstanceHost
  /** Resolves when the instance has ended or was released. */
  life: Promise<void>
  paths: InstancePaths
  epoch: number
}

export interface HostOptions {
  /** How many instances of the home may have a worker at the same time, for those that this process starts (R70). */
  maxRunning?: number | undefined
  index?: InstanceIndex
  /** Called when this process has taken over an instance, before it writes an event. */
  onOwned?: (id: string, story: Ledger['story']) => void
  /** The interval of the watchdog. */
  watchdogMs?: number
  /** Addresses that workers with an allowlist may reach besides public ones; only tests set it. */
  egress?: InstanceEgressParts['egress']
  /** Drivers of executors that are neither local nor Docker; {@link driverFor} knows those. */
  driver?: (executor: Executor, paths: InstancePaths) => Driver
}

const RELEASE_RETRY_MS = 1_000
/** The first instance starts before: a look at all processes takes some milliseconds. */
const INQUIRY_SWEEP_DELAY_MS = 1_000

/** A failed check does not show that another host took the instance; the journal refuses a second writer in any case. */
function isStill(paths: InstancePaths, epoch: number): boolean {
  try {
    return highestEpoch(paths.owners) === epoch
  } catch (error) {
    if (!isScarcity(error)) throw error
    return true
  }
}

/** Processes of inquiries whose host was killed. The next host looks again where this one cannot. */
function sweepInquiries(): void {
  endAbandonedInquiries().catch(() => {})
}

export class HostProcess {
  readonly #home: string
  readonly #onConnection: OnConnection
  readonly #options: HostOptions
  readonly #held = new Map<string, Held>()
  /** The instances that this process owns and whose journals it still reads. */
  readonly #opening = new Map<string, Promise<void>>()
  readonly #queue: HomeQueue
  /** Ends of instances whose last spans are still being sent. */
  readonly #traced = new Set<Promise<void>>()
  #socket: Promise<{ path: string; close: () => void }> | undefined
  #socketPath: string | undefined
  /** Once, when it owns its first instance. */
  #sweepTimer: NodeJS.Timeout | undefined
  /** A host of containers also removes those that no host owns any more. */
  #stopReaper: (() => void) | undefined

  constructor(home: string, onConnection: OnConnection = refuseRequests, options: HostOptions = {}) {
    this.#home = home
    this.#options = options
    this.#onConnection = onConnection
    this.#queue = new HomeQueue({
      home,
      index: options.index ?? new InstanceIndex(home),
      maxRunning: options.maxRunning,
      ensureHost: async (id) => {
        if (!this.#held.has(id)) await this.own(id)
      },
    })
  }

  /** The socket of this process; undefined until it owned its first instance. */
  get socketPath(): string | undefined {
    return this.#socketPath
  }

  /** The instances that are hosted now. */
  ids(): string[] {
    return [...this.#held.keys()]
  }

  get(id: string): InstanceHost | undefined {
    return this.#held.get(id)?.host
  }

  /**
   * Takes over an instance that has no live owner; undefined where a live host owns it. `begin` runs with the ledger open,
   * before the instance goes on: it may resume a paused instance.
   */
  async own(id: string, begin?: (ledger: Ledger) => void): Promise<InstanceHost | undefined> {
    return await this.#claim(id, ({ paths, ledger, epoch }) => {
      this.#options.onOwned?.(id, ledger.story)
      begin?.(ledger)
      return this.#hold(id, paths, ledger, epoch)
    })
  }

  /**
   * Owns an instance without a live owner while `work` runs, without continuing the instance. Returns false where a live host
   * owns it.
   */
  async write(id: string, work: (ledger: Ledger) => void): Promise<boolean> {
    const done = await this.#claim(id, ({ paths, ledger, epoch }) => {
      work(ledger)
      ledger.close()
      this.#giveAway(id, { paths, epoch })
      return true
    })
    return done === true
  }

  /** `use` runs when the journal is read, which may take a while; where it throws, the claim is released. */
  async #claim<T>(
    id: string,
    use: (owned: { paths: InstancePaths; ledger: Ledger; epoch: number }) => T,
  ): Promise<T | undefined> {
    const paths = instancePaths(this.#home, id)
    await this.#opening.get(id)
    const before = readOwner(paths.owners)
    // Counted before any wait: of several processes that find no live owner, only one gets this number.
    const epoch = (before?.epoch ?? highestEpoch(paths.owners)) + 1
    if (before !== undefined && !this.#isForgotten(id, before) && (await isOwnerAlive(before))) return undefined
    const { path: socket } = await this.#listen()
    if (!claimEpoch(paths.owners, epoch, socket)) {
      // Where this process was faster with another call, the instance is in its table when this one returns.
      await this.#opening.get(id)
      return undefined
    }
    const opened = Promise.withResolvers<void>()
    this.#opening.set(id, opened.promise)
    let ledger: Ledger | undefined
    try {
      ledger = await this.#openLedger(id, paths)
      failpoint('owner.opened')
      return use({ paths, ledger, epoch })
    } catch (error) {
      ledger?.close()
      const owner = readOwner(paths.owners)
      if (owner?.epoch === epoch) releaseEpoch(paths.owners, owner)
      throw error
    } finally {
      this.#opening.delete(id)
      opened.resolve()
    }
  }

  /** Releases an instance, which goes on without this process. */
  release(id: string): void {
    this.get(id)?.release()
  }

  /** Resolves when this process no longer hosts the instance. */
  async over(id: string): Promise<void> {
    await this.#held.get(id)?.life
  }

  /** Releases everything and stops listening. */
  async close(): Promise<void> {
    await Promise.all(this.#opening.values())
    for (const id of [...this.#held.keys()]) this.release(id)
    // A command ends its process when this returns.
    await within(TRACES_CLOSE_LIMIT_MS * 2, Promise.allSettled(this.#traced))
    clearTimeout(this.#sweepTimer)
    this.#stopReaper?.()
    this.#stopReaper = undefined
    const socket = await this.#socket?.catch(() => undefined)
    socket?.close()
    this.#socket = undefined
  }

  #hold(id: string, paths: InstancePaths, ledger: Ledger, epoch: number): InstanceHost {
    const held = { paths, epoch } as Held
    const { executor } = ledger.story.creation
    const traces = traceSessions(ledger.story, (session, after) => readTranscript(paths, session, after))
    if (traces !== undefined) ledger.watch((event) => traces.take(event, ledger.story))
    const { driver, maxRunning: _max, index: _index, onOwned: _owned, ...options } = this.#options
    const host = new InstanceHost({
      ledger,
      driver: driver?.(executor, paths) ?? driverFor(executor, paths, this.#home),
      epoch,
      home: this.#home,
      log: paths.log,
      queue: this.#queue,
      ...options,
      stillOwns: () => {
        void this.#keepReachable()
        return isStill(paths, held.epoch)
      },
      keptStop: () => readKeptStop(paths),
      dropKeptStop: () => dropKeptStop(paths),
      release: () => {
        if (this.#held.get(id) !== held) return
        this.#held.delete(id)
        this.#giveAway(id, held)
        this.#queue.ring()
      },
    })
    // In a later turn: an instance that ends at once must be in the table before it can be removed from it.
    held.host = host
    held.life = Promise.resolve()
      .then(() => host.live())
      .catch((error: unknown) => process.emitWarning(ledger.redactor.text(String(error))))
      .then(() => traces?.flush())
    this.#held.set(id, held)
    if (traces !== undefined) {
      const { life } = held
      this.#traced.add(life)
      void life.finally(() => this.#traced.delete(life))
    }
    if (executor === 'docker') this.#stopReaper ??= startReaper(this.#home)
    return host
  }

  /** This process is its owner on disk only: an earlier claim or release failed halfway. */
  #isForgotten(id: string, owner: Owner): boolean {
    return owner.socket === this.#socketPath && !this.#held.has(id) && !this.#opening.has(id)
  }

  /** Releases the epoch of an instance that this process no longer hosts; tries again while the disk is full. */
  #giveAway(id: string, { paths, epoch }: Pick<Held, 'paths' | 'epoch'>): void {
    if (this.#held.has(id)) return
    try {
      const owner = readOwner(paths.owners)
      if (owner?.epoch === epoch) releaseEpoch(paths.owners, owner)
    } catch {
      setTimeout(() => this.#giveAway(id, { paths, epoch }), RELEASE_RETRY_MS).unref()
    }
  }

  /** Temp directories get cleaned: a host whose socket file vanished listens on a new one, and claims the next epoch with it. */
  async #keepReachable(): Promise<void> {
    const before = this.#socket
    const old = await before
    if (old === undefined || existsSync(old.path) || this.#socket !== before) return
    this.#socket = undefined
    const { path } = await this.#listen()
    for (const held of this.#held.values()) {
      const next = held.epoch + 1
      if (highestEpoch(held.paths.owners) === held.epoch && claimEpoch(held.paths.owners, next, path)) held.epoch = next
    }
    old.close()
  }

  async #openLedger(id: string, paths: InstancePaths): Promise<Ledger> {
    try {
      return await Ledger.open(paths)
    } catch (error) {
      if (systemCode(error) === 'ENOENT') throw fail('instance_unknown', { id }, { cause: error })
      throw error
    }
  }

  async #listen(): Promise<{ path: string; close: () => void }> {
    this.#socket ??= listen(this.#onConnection, this.#home)
    const socket = await this.#socket
    this.#socketPath = socket.path
    this.#sweepTimer ??= setTimeout(sweepInquiries, INQUIRY_SWEEP_DELAY_MS).unref()
    return socket
  }
}
