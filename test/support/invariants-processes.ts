/** I8 of the machine: one worker while an instance is up, nothing of it after the end, and what is others' stays (reliability, Invariants). */
import { readFileSync } from 'node:fs'
import { readStat } from '../../src/core/files/process-identity.ts'
import { carriersOf } from '../../src/core/worker/local/process-tree.ts'
import type { Left, Report } from './invariants.ts'

export interface Holdings {
  /** How many workers there were, at each look. */
  workers: readonly { at: number; count: number }[]
  /** Processes, containers, networks of the instance that are there after the grace period. */
  left: readonly unknown[]
  /** What belongs to others, by name, as it was before and as it is now. */
  foreign: { before: Readonly<Record<string, string>>; after: Readonly<Record<string, string>> }
}

/** A worker may be gone this long before its host has seen it, and be starting this long before it can be seen. */
const GRACE_MS = 2_000

export function checkHoldings({ lines, hasEnded }: Left, { workers, left, foreign }: Holdings, report: Report): void {
  for (const { at, count } of workers) {
    if (count > 1) report('I8', `${count} workers at ${new Date(at).toISOString()}`)
  }
  for (const { from, to } of upTimes(lines)) {
    const looks = workers.filter(({ at }) => at > from + GRACE_MS && at < to - GRACE_MS)
    if (looks.length > 0 && looks.every(({ count }) => count === 0)) report('I8', 'up, and there was no worker')
  }
  if (hasEnded && left.length > 0) report('I8', `left of it: ${JSON.stringify(left)}`)
  for (const [name, before] of Object.entries(foreign.before)) {
    const after = foreign.after[name]
    if (after !== before) report('I8', `${name}, which is not ours, was "${before}" and is "${after ?? 'gone'}"`)
  }
}

/** From each launch to the last line of the worker: after its last line a worker may end, and its host may notice later. */
function upTimes(lines: Left['lines']): { from: number; to: number }[] {
  const launches = lines.flatMap(({ event }, at) => (event.event_type === 'platform.worker.launched' ? [at] : []))
  return launches.flatMap((at, index) => {
    const own = lines.slice(at, launches[index + 1])
    const last = own.findLast(({ sourceEnd, event }) => sourceEnd !== null && event.event_type !== REJECTED)
    const from = Date.parse(own[0]?.event.timestamp ?? '')
    return last === undefined ? [] : [{ from, to: Date.parse(last.event.timestamp) }]
  })
}

const REJECTED = 'platform.event.rejected'

/** The local workers of every instance now, by the directory they were given: processes of its program that none of its own began. */
export function localWorkers(program: string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const [directory, pids] of carriersOf('RESOLVE_DIR')) {
    const main = pids.filter((pid) => commandOf(pid).includes(program) && !pids.includes(readStat(pid)?.parent ?? 0))
    counts.set(directory, main.length)
  }
  return counts
}

/** What a process that is not ours looks like: another with its pid looks different. */
export function lookOf(pid: number): string {
  const stat = readStat(pid)
  return stat === undefined || stat.state === 'Z' ? 'gone' : `${stat.startTime} of ${stat.session}`
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1')
  } catch {
    return ''
  }
}
