/**
 * A snapshot of all processes of this machine from /proc, for {@link file://./process-tree.ts}. A process that hosts a thousand
 * workers would scan /proc a thousand times: callers at the same time share one scan, and the environment of an older process
 * is read once.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { uptime } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { isScarcity, systemCode } from '../../errors.ts'
import { type ProcessStat, readStat } from '../../files/process-identity.ts'

/** A variable in the environment of every process of a worker or an inquiry. */
const MARKS = ['RESOLVE_DIR=', 'RESOLVE_INQUIRY='] as const
/** A young process may still exec another program, which keeps the pid and changes the environment. */
const SETTLED_S = 5
const TICKS_A_SECOND = 100
/** The pause after a scan failed for lack of resources. */
const SCARCE_MS = 100
/** The pid whose children are kernel threads. */
const KERNEL = 2

export class ProcessTable {
  readonly #pids = new Set<number>()
  readonly #byLeader = new Map<number, number[]>()
  readonly #byParent = new Map<number, number[]>()
  readonly #byMark = new Map<string, number[]>()

  constructor(all: Iterable<{ stat: ProcessStat; marks: readonly string[] }>) {
    for (const { stat, marks } of all) {
      const { pid, parent, group, session } = stat
      this.#pids.add(pid)
      add(this.#byParent, parent, pid)
      add(this.#byLeader, session, pid)
      if (group !== session) add(this.#byLeader, group, pid)
      for (const mark of marks) add(this.#byMark, mark, pid)
    }
  }

  /** A scan finds no process at all only where there is no /proc. */
  get isEmpty(): boolean {
    return this.#pids.size === 0
  }

  /** Processes by their mark: `RESOLVE_DIR=…`, `RESOLVE_INQUIRY=…`. */
  get marked(): ReadonlyMap<string, readonly number[]> {
    return this.#byMark
  }

  /** The session and group of a leader, every process with the mark, and all their descendants. */
  tree(leader: number, mark: string | undefined): Set<number> {
    const found = new Set<number>()
    const next = mark === undefined ? [] : [...(this.#byMark.get(mark) ?? [])]
    if (leader > 0) next.push(...(this.#byLeader.get(leader) ?? []))
    if (leader > 0 && this.#pids.has(leader)) next.push(leader)
    for (let pid = next.pop(); pid !== undefined; pid = next.pop()) {
      if (found.has(pid)) continue
      found.add(pid)
      next.push(...(this.#byParent.get(pid) ?? []))
    }
    return found
  }
}

/** Scans now. Throws where it lacks file descriptors or memory. */
export function scanProcesses(): ProcessTable {
  const begin = performance.now()
  const known = carried
  carried = new Map()
  const keptOutcome = (uptime() - SETTLED_S) * TICKS_A_SECOND
  const all: { stat: ProcessStat; marks: readonly string[] }[] = []
  for (const stat of livingProcesses()) {
    const before = known.get(stat.pid)
    const isKnown = before !== undefined && before.startTime === stat.startTime
    const marks = isKnown ? before.marks : marksOf(stat)
    const isSettled = isKnown || Number(stat.startTime) < keptOutcome
    if (isSettled && marks !== undefined) carried.set(stat.pid, { startTime: stat.startTime, marks })
    all.push({ stat, marks: marks ?? NONE })
  }
  const table = new ProcessTable(all)
  last = { table, at: performance.now(), tookMs: performance.now() - begin }
  return table
}

/** A snapshot no older than this, or a new one: for sampling, not for killing. */
export function recentProcesses(maxAgeMs: number): ProcessTable {
  return last !== undefined && performance.now() - last.at < maxAgeMs ? last.table : scanProcesses()
}

/** A snapshot that starts after this call, shared with all callers until it starts. Scans take at most a quarter of the time. */
export function freshProcesses(): Promise<ProcessTable> {
  coming ??= (async () => {
    const restMs = last === undefined ? 0 : last.at + 3 * last.tookMs - performance.now()
    await sleep(Math.max(0, restMs))
    coming = undefined
    return await scanRetrying()
  })()
  return coming
}

/** A failed scan does not show that there are no processes. */
async function scanRetrying(): Promise<ProcessTable> {
  for (;;) {
    try {
      return scanProcesses()
    } catch (error) {
      if (!isScarcity(error)) throw error
      await sleep(SCARCE_MS)
    }
  }
}

/** Marks of processes that no longer change, by identity. */
let carried = new Map<number, { startTime: string; marks: readonly string[] }>()
let last: { table: ProcessTable; at: number; tookMs: number } | undefined
let coming: Promise<ProcessTable> | undefined

function add<Key>(map: Map<Key, number[]>, key: Key, pid: number): void {
  const pids = map.get(key)
  if (pids === undefined) map.set(key, [pid])
  else pids.push(pid)
}

const NONE: readonly string[] = []

/** undefined where it cannot be read now: the next scan tries again. */
function marksOf({ pid, parent }: ProcessStat): readonly string[] | undefined {
  // Depending on the kernel, its threads have an empty environment or none: reading it would fail at every scan.
  if (pid === KERNEL || parent === KERNEL) return NONE
  try {
    const text = readFileSync(`/proc/${pid}/environ`, 'utf8')
    // The environment is empty for a moment while a process execs another program.
    if (text === '') return undefined
    const found = text.split('\0').filter((entry) => MARKS.some((mark) => entry.startsWith(mark)))
    return found.length === 0 ? NONE : found
  } catch (error) {
    if (isScarcity(error)) throw error
    // The process ended meanwhile, or belongs to another user.
    const code = systemCode(error)
    return code === 'EACCES' || code === 'EPERM' ? NONE : undefined
  }
}

function livingProcesses(): ProcessStat[] {
  let names: string[]
  try {
    names = readdirSync('/proc')
  } catch (error) {
    if (isScarcity(error)) throw error
    return []
  }
  const found: ProcessStat[] = []
  for (const name of names) {
    if (!/^\d+$/.test(name)) continue
    const stat = readStat(Number(name))
    if (stat !== undefined && stat.state !== 'Z' && stat.state !== 'X') found.push(stat)
  }
  return found
}
