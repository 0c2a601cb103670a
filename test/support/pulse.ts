/**
 * How late the event loop of this process is, by its own doing: what it computes and the files it waits for, but not the time in which other
 * processes had the processors (the kernel tells how long that was). So a busy machine is not taken for a host that hangs.
 */
import { readFileSync } from 'node:fs'
import { createHistogram, monitorEventLoopDelay, type RecordableHistogram } from 'node:perf_hooks'

const BEAT_MS = 10

export interface Lateness {
  /** By its own doing. */
  delayP99Ms: number
  beats: number
  /** The most it computed without looking up. */
  computedMaxMs: number
  /** As it was felt, whosever doing it was. */
  feltP99Ms: number
}

/** Measures until the answered function is called. */
export function feelPulse(): () => Lateness {
  const felt = monitorEventLoopDelay({ resolution: BEAT_MS })
  const own: RecordableHistogram = createHistogram()
  felt.enable()
  let computedMaxMs = 0
  const look = () => ({ at: performance.now(), waited: waitedMs(), cpu: process.threadCpuUsage() })
  let before = look()
  const timer = setInterval(() => {
    const now = look()
    const late = now.at - before.at - BEAT_MS - (now.waited - before.waited)
    own.record(Math.max(1, Math.round(late * 1e6)))
    const { user, system } = process.threadCpuUsage(before.cpu)
    computedMaxMs = Math.max(computedMaxMs, (user + system) / 1_000)
    before = now
  }, BEAT_MS)
  return () => {
    clearInterval(timer)
    felt.disable()
    // It counts the time between two looks, which is its resolution where nothing is late.
    const feltP99Ms = Math.max(0, felt.percentile(99) / 1e6 - BEAT_MS)
    return { delayP99Ms: own.percentile(99) / 1e6, beats: own.count, computedMaxMs, feltP99Ms }
  }
}

/** How long this thread stood in line for a processor since it began; 0 where the kernel does not say. */
function waitedMs(): number {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ')[1]) / 1e6
  } catch {
    return 0
  }
}
