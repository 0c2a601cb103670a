/** The parts that a host of one instance is made from; {@link file://./../process/host-process.ts} provides them. */
import type { Driver } from '../../worker/worker.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { InstanceEgressParts } from '../resources/instance-egress.ts'

export interface HostParts {
  ledger: Ledger
  driver: Driver
  epoch: number
  /** The home the instance is in. */
  home: string
  /** Whether this host still owns the instance. Called at each periodic check. */
  stillOwns: () => boolean
  /** Gives up the ownership of the instance. May be called twice. */
  release: () => void
  /** The interval of the watchdog. */
  watchdogMs?: number | undefined
  egress?: InstanceEgressParts['egress']
}
