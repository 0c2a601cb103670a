/** Tells one process from a later one with the same pid: pid, start time and boot together (threats D8). */
import { closeSync, openSync, readFileSync, readSync } from 'node:fs'
import { isScarcity } from '../errors.ts'

export interface ProcessIdentity {
  pid: number
  /** Clock ticks since boot, from /proc; empty where the system has no /proc. */
  startTime: string
  /** Names this boot of the machine; empty where the system does not tell. */
  bootId: string
}

/** The identity of a running process; undefined where there is none (a zombie counts as gone). Throws where nothing can be looked at now. */
export function identify(pid: number): ProcessIdentity | undefined {
  const stat = readStat(pid)
  if (stat === undefined) return hasProc() || !answersSignal(pid) ? undefined : { pid, startTime: '', bootId: '' }
  if (stat.state === 'Z' || stat.state === 'X') return undefined
  return { pid, startTime: stat.startTime, bootId: bootId() }
}

/** Whether the process that was identified is still running. Throws as {@link identify}. */
export function isSameProcess(identity: ProcessIdentity): boolean {
  const now = identify(identity.pid)
  return now !== undefined && now.startTime === identity.startTime && now.bootId === identity.bootId
}

export interface ProcessStat {
  pid: number
  state: string
  parent: number
  group: number
  session: number
  startTime: string
}

/** One row of /proc/<pid>/stat; undefined where the process or /proc is missing. Throws for want of files: nobody is dead for that. */
export function readStat(pid: number): ProcessStat | undefined {
  let text: string
  try {
    text = readSmall(`/proc/${pid}/stat`)
  } catch (error) {
    if (isScarcity(error)) throw error
    return undefined
  }
  // The command name stands in parentheses and may hold anything, so count from the last one.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return {
    pid,
    state: fields[0] ?? '',
    parent: Number(fields[1]),
    group: Number(fields[2]),
    session: Number(fields[3]),
    startTime: fields[19] ?? '',
  }
}

const small = Buffer.allocUnsafe(4096)

/** What /proc answers at once, with half the calls of readFileSync: looking for a worker reads it of every process there is. */
function readSmall(path: string): string {
  const fd = openSync(path, 'r')
  try {
    return small.toString('latin1', 0, readSync(fd, small, 0, small.length, null))
  } finally {
    closeSync(fd)
  }
}

let knownBootId: string | undefined

export function bootId(): string {
  if (knownBootId === undefined) {
    try {
      knownBootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    } catch (error) {
      if (isScarcity(error)) throw error
      knownBootId = ''
    }
  }
  return knownBootId
}

function hasProc(): boolean {
  return readStat(process.pid) !== undefined
}

function answersSignal(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
