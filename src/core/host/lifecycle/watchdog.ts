/**
 * Watches the resources that a worker uses, and warns; the kernel enforces the limits. It is the third layer of defence
 * (spec, Limits; R17).
 */
import {
  CONTAINER_MEMORY_BYTES,
  CONTAINER_PIDS_MAX,
  DISK_FLOOR_BYTES,
  DISK_FLOOR_FRACTION,
  DISK_WARNING_FRACTION,
  INSTANCE_DISK_BYTES,
  MEMORY_WARNING_FRACTION,
  PIDS_WARNING,
  WATCHDOG_MS,
  WATCHDOG_REARM_FRACTION,
} from '../../limits.ts'
import type { Usage } from '../../worker/worker.ts'

/** `limit` is the hard limit; the warning comes earlier. */
export interface Warning {
  kind: 'processes' | 'memory' | 'disk' | 'disk_floor' | 'oom'
  value: number
  limit: number
}

export interface WatchdogOptions {
  /** undefined where usage cannot be measured now. */
  usage: () => Promise<Usage | undefined>
  warn: (warning: Warning) => void
  periodMs?: number | undefined
}

/** Samples until it is stopped. Returns the function that stops it. */
export function startWatchdog({ usage, warn, periodMs = WATCHDOG_MS }: WatchdogOptions): () => void {
  const judge = new Judge()
  let timer: NodeJS.Timeout | undefined
  let isStopped = false
  const look = async () => {
    // A failed measurement (a worker changed its directory, the engine is unreachable) must not end the host.
    const now = await usage().catch(() => undefined)
    if (isStopped) return
    if (now !== undefined) for (const warning of judge.warnings(now)) warn(warning)
    timer = setTimeout(look, periodMs).unref()
  }
  timer = setTimeout(look, periodMs).unref()
  return () => {
    isStopped = true
    clearTimeout(timer)
  }
}

/** Decides which samples get a warning: the first above a mark, and another only after usage fell well below it. */
export class Judge {
  readonly #warned = new Set<Warning['kind']>()
  #oomKills = 0

  warnings(now: Usage): Warning[] {
    const floor = Math.max(DISK_FLOOR_BYTES, now.diskTotalBytes * DISK_FLOOR_FRACTION)
    const found = [
      this.#above('processes', now.pids, PIDS_WARNING, CONTAINER_PIDS_MAX),
      this.#above('memory', now.memoryBytes, CONTAINER_MEMORY_BYTES * MEMORY_WARNING_FRACTION, CONTAINER_MEMORY_BYTES),
      this.#above('disk', now.diskBytes, INSTANCE_DISK_BYTES * DISK_WARNING_FRACTION, INSTANCE_DISK_BYTES),
      this.#below('disk_floor', now.diskFreeBytes, floor),
      this.#more(now.oomKills),
    ]
    return found.filter((warning) => warning !== undefined)
  }

  #above(kind: Warning['kind'], value: number, mark: number, limit: number): Warning | undefined {
    return this.#crossed(kind, value >= mark, value < mark * WATCHDOG_REARM_FRACTION)
      ? { kind, value, limit }
      : undefined
  }

  #below(kind: Warning['kind'], value: number, mark: number): Warning | undefined {
    const limit = Math.round(mark)
    return this.#crossed(kind, value < mark, value > mark / WATCHDOG_REARM_FRACTION)
      ? { kind, value, limit }
      : undefined
  }

  #crossed(kind: Warning['kind'], isOver: boolean, isWellBack: boolean): boolean {
    const isNew = isOver && !this.#warned.has(kind)
    if (isOver) this.#warned.add(kind)
    else if (isWellBack) this.#warned.delete(kind)
    return isNew
  }

  /**
   * The kernel killed a process of the worker for lack of memory, and the worker goes on. If it kills the main process, the
   * end of the run says so.
   */
  #more(kills: number): Warning | undefined {
    if (kills <= this.#oomKills) return undefined
    this.#oomKills = kills
    return { kind: 'oom', value: kills, limit: CONTAINER_MEMORY_BYTES }
  }
}
