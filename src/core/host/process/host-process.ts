/** The instances that this process hosts: `instance run` holds one, a background host a few, `serve` many. */
import { existsSync } from 'node:fs'
import { fail, isScarcity, systemCode } from '../../errors.ts'
import { failpoint } from '../../failpoints.ts'
import type { Executor } from '../../protocol/journal.ts'
import { type InstancePaths, instancePaths, instancesDirectory } from '../../store/home.ts'
import { claimEpoch, highestEpoch, isOwnerAlive, type Owner, readOwner, releaseEpoch } from '../../store/owners.ts'
import { dropFifoAhead, makeFifoAhead } from '../../worker/local/fifo.ts'
import type { Driver } from '../../worker/worker.ts'
import { Ledger } from '../ledger/ledger.ts'
import { InstanceHost } from '../lifecycle/instance-host.ts'
import type { InstanceEgressParts } from '../resources/instance-egress.ts'
import { closedDoor, listen, type OnConnection } from './control-socket.ts'
import { driverFor } from './drivers.ts'
import { startReaper } from './reaper.ts'

interface Held {
  host: InstanceHost
  /** Ends with the story, or with a release. */
  life: Promise<void>
  paths: InstancePaths
  epoch: number
}

export interface HostOptions {
  /** How often the watchdog looks at each worker. */
  watchdogMs?: number
  /** Where workers on an allowlist may go beside public addresses: tests only. */
  egress?: InstanceEgressParts['egress']
  /** Where workers are that are neither processes nor containers of this machine; else {@link driverFor} knows. */
  driver?: (executor: Executor, paths: InstancePaths) => Driver
}

const RELEASE_RETRY_MS = 1_000

/** Who may open no more files has seen nobody take it; the journal refuses two writers. */
function isStill(paths: InstancePaths, epoch: number): boolean {
  try {
    return highestEpoch(paths.owners) === epoch
  } catch (error) {
    if (!isScarcity(error)) throw error
    return true
  }
}

export class HostProcess {
  readonly #home: string
  readonly #onConnection: OnConnection
  readonly #options: HostOptions
  readonly #held = new Map<string, Held>()
  #socket: Promise<{ path: string; close: () => void }> | undefined
  #socketPath: string | undefined
  /** Who hosts containers looks after those that nobody hosts. */
  #stopReaper: (() => void) | undefined

  constructor(home: string, onConnection: OnConnection = closedDoor, options: HostOptions = {}) {
    this.#home = home
    this.#options = options
    this.#onConnection = onConnection
  }

  /** Where this process listens; undefined until it owned something. */
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
   * Owns an instance whose owner is gone, or that never had one; undefined where a live host owns it.
   * `begin` runs before the story goes on, with the ledger open: it may move a paused instance on.
   */
  async own(id: string, begin?: (ledger: Ledger) => void): Promise<InstanceHost | undefined> {
    return await this.#claim(id, ({ paths, ledger, epoch }) => {
      begin?.(ledger)
      return this.#hold(id, paths, ledger, epoch)
    })
  }

  /**
   * Owns an instance that no live host owns for as long as `work` takes, without going on with its story.
   * False where a live host owns it.
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

  /** `use` runs in the turn of the claim; where it throws, the claim is given away again. */
  async #claim<T>(
    id: string,
    use: (owned: { paths: InstancePaths; ledger: Ledger; epoch: number }) => T,
  ): Promise<T | undefined> {
    const paths = instancePaths(this.#home, id)
    const before = readOwner(paths.owners)
    // Counted before any wait: of several processes that find no live owner, only one gets this number.
    const epoch = (before?.epoch ?? highestEpoch(paths.owners)) + 1
    if (before !== undefined && !this.#isForgotten(id, before) && (await isOwnerAlive(before))) return undefined
    const { path: socket } = await this.#listen()
    if (!claimEpoch(paths.owners, epoch, socket)) return undefined
    let ledger: Ledger | undefined
    try {
      ledger = this.#openLedger(id, paths)
      failpoint('owner.opened')
      return use({ paths, ledger, epoch })
    } catch (error) {
      ledger?.close()
      const owner = readOwner(paths.owners)
      if (owner?.epoch === epoch) releaseEpoch(paths.owners, owner)
      throw error
    }
  }

  /** `work` creates an instance that is hosted here, by this executor: what takes a while begins, and is taken away where it fails. */
  async expecting<T>(executor: Executor | undefined, work: () => Promise<T>): Promise<T> {
    if (executor !== 'local') return await work()
    const directory = instancesDirectory(this.#home)
    makeFifoAhead(directory)
    try {
      return await work()
    } catch (error) {
      dropFifoAhead(directory)
      throw error
    }
  }

  /** Lets an instance go on without this process. */
  release(id: string): void {
    this.get(id)?.release()
  }

  /** Resolves when the instance is no longer held here. */
  async over(id: string): Promise<void> {
    await this.#held.get(id)?.life
  }

  /** Releases everything and stops listening. */
  async close(): Promise<void> {
    for (const id of [...this.#held.keys()]) this.release(id)
    dropFifoAhead(instancesDirectory(this.#home))
    this.#stopReaper?.()
    this.#stopReaper = undefined
    const socket = await this.#socket?.catch(() => undefined)
    socket?.close()
    this.#socket = undefined
  }

  #hold(id: string, paths: InstancePaths, ledger: Ledger, epoch: number): InstanceHost {
    const held = { paths, epoch } as Held
    const { executor } = ledger.story.creation
    const { driver, ...options } = this.#options
    const host = new InstanceHost({
      ledger,
      driver: driver?.(executor, paths) ?? driverFor(executor, paths, this.#home),
      epoch,
      home: this.#home,
      ...options,
      stillOwns: () => {
        void this.#keepReachable()
        return isStill(paths, held.epoch)
      },
      letGo: () => {
        if (this.#held.get(id) !== held) return
        this.#held.delete(id)
        this.#giveAway(id, held)
      },
    })
    // Later than this turn: a story that ends at once must find itself in the table to leave it.
    held.host = host
    held.life = Promise.resolve()
      .then(() => host.live())
      .catch((error: unknown) => process.emitWarning(ledger.redactor.text(String(error))))
    this.#held.set(id, held)
    if (executor === 'docker') this.#stopReaper ??= startReaper(this.#home)
    return host
  }

  /** Owned by this process by name alone: a claim, or its release, failed half way. */
  #isForgotten(id: string, owner: Owner): boolean {
    return owner.socket === this.#socketPath && !this.#held.has(id)
  }

  /** A full disk keeps nobody as the owner for longer than it is full. */
  #giveAway(id: string, { paths, epoch }: Pick<Held, 'paths' | 'epoch'>): void {
    if (this.#held.has(id)) return
    try {
      const owner = readOwner(paths.owners)
      if (owner?.epoch === epoch) releaseEpoch(paths.owners, owner)
    } catch {
      setTimeout(() => this.#giveAway(id, { paths, epoch }), RELEASE_RETRY_MS).unref()
    }
  }

  /** Temp directories are swept: a host whose socket vanished listens anew, and owns by the next epoch with the new name. */
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

  #openLedger(id: string, paths: InstancePaths): Ledger {
    try {
      return Ledger.open(paths)
    } catch (error) {
      if (systemCode(error) === 'ENOENT') throw fail('instance_unknown', { id }, { cause: error })
      throw error
    }
  }

  async #listen(): Promise<{ path: string; close: () => void }> {
    this.#socket ??= listen(this.#onConnection)
    const socket = await this.#socket
    this.#socketPath = socket.path
    return socket
  }
}
