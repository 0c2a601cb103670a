/** Finds and signals every process of a local worker: its session, its descendants, and every process that carries its mark. */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { isScarcity } from '../../errors.ts'
import { holdersOf, isLifelineHeld } from './lifeline.ts'
import { freshProcesses, scanProcesses } from './process-table.ts'

/** What identifies a worker's processes. */
export interface TreeMark {
  /** The pid of the main process, which leads its own session; 0 where it is unknown. */
  leader: number
  /** `RESOLVE_DIR=…` or `RESOLVE_INQUIRY=…`: a variable that is unique to this worker on this machine. */
  variable?: string
  /** A FIFO that all of its processes inherited. */
  lifeline?: string
}

/**
 * Pids of every living process of the tree. A grandchild may have left session and parent, but keeps the mark. Where no process is
 * left by these signs, the lifeline leads to those that cleared their environment as well.
 */
export function processesOf(mark: TreeMark, table = scanProcesses()): number[] {
  if (table.isEmpty) return groupOf(mark.leader)
  const found = table.tree(mark.leader, mark.variable)
  found.delete(process.pid)
  return found.size > 0 || mark.lifeline === undefined ? [...found] : escapedFrom(mark.lifeline)
}

/** The processes that still hold the lifeline. Where no other sign leads to a process of the worker, these have escaped. */
export function escapedFrom(lifeline: string): number[] {
  return isLifelineHeld(lifeline) ? holdersOf(lifeline, true) : []
}

/** The number of processes and threads, and their private memory; undefined where there is no /proc. */
export function usageOf(pids: readonly number[]): { pids: number; memoryBytes: number } | undefined {
  const total = { pids: 0, memoryBytes: 0 }
  if (pids.some((pid) => pid < 0)) return undefined
  for (const pid of pids) {
    let status: string
    try {
      status = readFileSync(`/proc/${pid}/status`, 'latin1')
    } catch {
      // The process ended meanwhile.
      continue
    }
    total.pids += Number(/^Threads:\s*(\d+)/m.exec(status)?.[1] ?? 1)
    total.memoryBytes += Number(/^RssAnon:\s*(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024
  }
  return total
}

export function signalAll(pids: readonly number[], name: 'SIGTERM' | 'SIGKILL'): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name)
    } catch {
      // The process ended meanwhile.
    }
  }
}

/** Scans and kills until two scans in a row find no process: a process that forks while it is killed is caught by the next scan. */
export async function killTree(findMark: () => TreeMark, limitMs: number): Promise<boolean> {
  const deadline = Date.now() + limitMs
  for (let empty = 0; empty < 2; ) {
    const table = await freshProcesses()
    const pids = unlessScarce(() => processesOf(findMark(), table))
    if (pids === undefined) {
      await sleep(SCARCE_MS)
      continue
    }
    empty = pids.length === 0 ? empty + 1 : 0
    signalAll(pids, 'SIGKILL')
    if (pids.length > 0 && Date.now() > deadline) return false
    if (pids.length > 0) await sleep(10)
  }
  return true
}

/** undefined where it cannot be determined now, for lack of file descriptors or memory. */
export function unlessScarce<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (!isScarcity(error)) throw error
    return undefined
  }
}

/** Every living process that carries the variable, by its value; empty where there is no /proc. */
export function carriersOf(name: 'RESOLVE_DIR' | 'RESOLVE_INQUIRY'): Map<string, number[]> {
  const found = new Map<string, number[]>()
  for (const [entry, pids] of scanProcesses().marked) {
    if (entry.startsWith(`${name}=`)) found.set(entry.slice(name.length + 1), [...pids])
  }
  return found
}

const SCARCE_MS = 100

/** Without /proc only the process group can be checked. */
function groupOf(leader: number): number[] {
  if (leader === 0) return []
  try {
    process.kill(-leader, 0)
    return [-leader]
  } catch {
    return []
  }
}
