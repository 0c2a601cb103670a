/** Identifies a process by pid, start time and boot id together, so that a reused pid is not mistaken for it (threats D8). */
import { closeSync, openSync, readFileSync, readlinkSync, readSync } from 'node:fs'
import { isScarcity } from '../errors.ts'

export interface ProcessIdentity {
  pid: number
  /** Clock ticks since boot, from /proc; empty where the system has no /proc. */
  startTime: string
  /** The id of this boot of the machine; empty where the system has none. */
  bootId: string
  /** The namespace that the pid belongs to, where it is known: the same pid in another one is another process. */
  namespace?: string
}

/**
 * The identity of a running process; undefined where there is none (a zombie counts as ended). Throws when /proc cannot be read
 * now.
 */
export function identify(pid: number): ProcessIdentity | undefined {
  const stat = readStat(pid)
  if (stat === undefined) return hasProc() || !answersSignal(pid) ? undefined : { pid, startTime: '', bootId: '' }
  if (stat.state === 'Z' || stat.state === 'X') return undefined
  return { pid, startTime: stat.startTime, bootId: bootId() }
}

/** Whether the identified process still runs. Throws as {@link identify} does. */
export function isSameProcess(identity: ProcessIdentity): boolean {
  if (identity.namespace !== undefined && identity.namespace !== pidNamespace()) return false
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

/**
 * One row of /proc/<pid>/stat; undefined where the process or /proc is missing. Throws when this process has no file
 * descriptors left: that does not mean that the process ended.
 */
export function readStat(pid: number): ProcessStat | undefined {
  let text: string
  try {
    text = readSmall(`/proc/${pid}/stat`)
  } catch (error) {
    if (isScarcity(error)) throw error
    return undefined
  }
  // The command name stands in parentheses and may contain any character, so fields are counted from the last parenthesis.
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

/** Reads a file of /proc with half the system calls of readFileSync: the search for a worker reads one for every process. */
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

let knownNamespace: string | undefined

/** The PID namespace of this process; empty where the system has none. */
export function pidNamespace(): string {
  if (knownNamespace === undefined) {
    try {
      knownNamespace = readlinkSync('/proc/self/ns/pid')
    } catch (error) {
      if (isScarcity(error)) throw error
      knownNamespace = ''
    }
  }
  return knownNamespace
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
