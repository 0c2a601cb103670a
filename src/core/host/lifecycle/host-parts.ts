/** The parts that a host of one instance is made with; {@link file://./../process/host-process.ts} creates them. */
import type { KeptStop } from '../../protocol/journal.ts'
import type { Driver } from '../../worker/worker.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { HomeQueue } from '../queue/home-queue.ts'
import type { InstanceEgressParts } from '../resources/instance-egress.ts'

export interface HostParts {
  ledger: Ledger
  driver: Driver
  epoch: number
  /** The home the instance is in. */
  home: string
  /** The path of its log. */
  log: string
  /** Decides when a worker may be started. */
  queue: HomeQueue
  /** Whether this host is still the owner; called at intervals. */
  stillOwns: () => boolean
  /** A stop that a consumer kept because the host before this one, or this one, did not answer. */
  keptStop: () => KeptStop | undefined
  dropKeptStop: () => void
  /** Releases the ownership. May be called twice. */
  release: () => void
  /** The interval of the watchdog. */
  watchdogMs?: number | undefined
  egress?: InstanceEgressParts['egress']
}
