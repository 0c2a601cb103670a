/**
 * Looks after what a worker takes, the third layer of defence (spec, Limits; R17): it warns, the kernel's limits hold.
 * {@link file://./instance-host.ts} starts one beside each worker.
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

/** `limit` is what must not be passed; a warning comes before it. */
export interface Warning {
  kind: 'processes' | 'memory' | 'disk' | 'disk_floor' | 'oom'
  value: number
  limit: number
}

export interface WatchdogOptions {
  /** undefined where nothing can be told now. */
  usage: () => Promise<Usage | undefined>
  warn: (warning: Warning) => void
  periodMs?: number | undefined
}

/** Samples until it is stopped. Answers its stop. */
export function startWatchdog({ usage, warn, periodMs = WATCHDOG_MS }: WatchdogOptions): () => void {
  const judge = new Judge()
  let timer: NodeJS.Timeout | undefined
  let isStopped = false
  const look = async () => {
    // Nothing a worker does to its directory, and no engine that is away, may end its host.
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

/** Which samples are worth a warning: the first above a mark, and again only after it was well below. */
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

  /** A process of the worker was ended for want of memory, and the worker goes on: the end of its main process is told by its end. */
  #more(kills: number): Warning | undefined {
    if (kills <= this.#oomKills) return undefined
    this.#oomKills = kills
    return { kind: 'oom', value: kills, limit: CONTAINER_MEMORY_BYTES }
  }
}
