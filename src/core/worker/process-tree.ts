/** Finds and signals every process of a local worker: its session, its descendants, and whoever carries its mark. */
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ProcessStat, readStat } from '../files/process-identity.ts'

/** What tells a worker's processes from all others. */
export interface TreeMark {
  /** The pid of the main process, which leads its own session; 0 where it is not known. */
  leader: number
  /** `NAME=value` in the environment that nothing else on this machine has. */
  variable?: string
  /** When the first process that may carry it was started, as /proc counts; nothing older is asked for it. */
  since?: string | undefined
}

/** Pids of every living process of the tree (a grandchild may have left session and parent, but keeps the mark). */
export function processesOf(mark: TreeMark): number[] {
  const all = allProcesses()
  if (all.length === 0) return groupOf(mark.leader)
  const found = new Set<number>()
  for (const stat of all) if (isOwn(stat, mark)) found.add(stat.pid)
  for (let grew = true; grew; ) {
    grew = false
    for (const stat of all) {
      if (!found.has(stat.pid) && found.has(stat.parent)) {
        found.add(stat.pid)
        grew = true
      }
    }
  }
  found.delete(process.pid)
  return [...found]
}

/** Processes and threads of the pids, and the memory that is theirs alone; undefined where there is no /proc. */
export function usageOf(pids: readonly number[]): { pids: number; memoryBytes: number } | undefined {
  const total = { pids: 0, memoryBytes: 0 }
  if (pids.some((pid) => pid < 0)) return undefined
  for (const pid of pids) {
    let status: string
    try {
      status = readFileSync(`/proc/${pid}/status`, 'latin1')
    } catch {
      // It ended meanwhile.
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
      // It ended by itself meanwhile.
    }
  }
}

/** Looks and kills until two looks in a row find nothing: a process that forks while it is killed is caught by the next look. */
export async function killTree(look: () => TreeMark, limitMs: number): Promise<boolean> {
  const deadline = Date.now() + limitMs
  for (let empty = 0; empty < 2; ) {
    const pids = processesOf(look())
    empty = pids.length === 0 ? empty + 1 : 0
    signalAll(pids, 'SIGKILL')
    if (pids.length > 0 && Date.now() > deadline) return false
    if (pids.length > 0) await sleep(10)
  }
  return true
}

/** Every living process that carries the variable, by the variable's value; nothing where there is no /proc. */
export function carriersOf(name: string): Map<string, number[]> {
  const found = new Map<string, number[]>()
  for (const { pid } of allProcesses()) {
    const value = environmentOf(pid)
      .find((entry) => entry.startsWith(`${name}=`))
      ?.slice(name.length + 1)
    if (value !== undefined) found.set(value, [...(found.get(value) ?? []), pid])
  }
  return found
}

function environmentOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
  } catch {
    // It ended meanwhile, or is another user's.
    return []
  }
}

function isOwn(stat: ProcessStat, mark: TreeMark): boolean {
  if (mark.leader > 0 && (stat.pid === mark.leader || stat.session === mark.leader || stat.group === mark.leader))
    return true
  if (mark.since !== undefined && Number(stat.startTime) < Number(mark.since)) return false
  return mark.variable !== undefined && hasVariable(stat.pid, mark.variable)
}

function hasVariable(pid: number, variable: string): boolean {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`, 'latin1')
    return environment.startsWith(`${variable}\0`) || environment.includes(`\0${variable}\0`)
  } catch {
    return false
  }
}

function allProcesses(): ProcessStat[] {
  let names: string[]
  try {
    names = readdirSync('/proc')
  } catch {
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

/** Without /proc only the process group can be asked for. */
function groupOf(leader: number): number[] {
  if (leader === 0) return []
  try {
    process.kill(-leader, 0)
    return [-leader]
  } catch {
    return []
  }
}
